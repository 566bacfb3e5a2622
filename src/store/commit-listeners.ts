/** Listeners that are called after commits, for replication. Subscriptions are woken by the writer's wake-up filter. */
export class CommitListeners<Args extends readonly unknown[] = []> {
  readonly #listeners = new Set<{ readonly call: (...args: Args) => void }>()

  get size(): number {
    return this.#listeners.size
  }

  /** Returns the unsubscribe function. */
  add(call: (...args: Args) => void): () => void {
    const listener = { call }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(...args: Args): void {
    for (const { call } of this.#listeners) call(...args)
  }
}
