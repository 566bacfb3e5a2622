/** Listeners that are called after commits, for replication. Subscriptions are woken by the writer's wake-up filter. */
export class CommitListeners {
  readonly #listeners = new Set<{ readonly call: () => void }>()

  /** Returns the unsubscribe function. */
  add(call: () => void): () => void {
    const listener = { call }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(): void {
    for (const { call } of this.#listeners) call()
  }
}
