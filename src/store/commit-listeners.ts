/** Those who are told after commits. */
export class CommitListeners {
  readonly #listeners = new Set<{ readonly call: () => void }>()

  /** Answers how to remove the listener. */
  add(call: () => void): () => void {
    const listener = { call }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(): void {
    for (const { call } of this.#listeners) call()
  }
}
