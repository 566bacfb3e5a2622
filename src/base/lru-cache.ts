/** Keeps what was used last, as long as it fits into a number of bytes. */
export class LruCache<K, V> {
  readonly #entries = new Map<K, { value: V; size: number }>()
  readonly #capacity: number
  /** Is told of what had to go for something else. */
  readonly #evicted: (value: V, key: K) => void
  #size = 0

  constructor(capacity: number, evicted: (value: V, key: K) => void = () => {}) {
    this.#capacity = capacity
    this.#evicted = evicted
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** What is kept, without counting as a use of it. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** Answers whether it is kept. */
  set(key: K, value: V, size: number): boolean {
    this.#remove(key)
    if (size > this.#capacity) return false
    this.#entries.set(key, { value, size })
    this.#size += size
    for (const [oldest, { value: evicted }] of this.#entries) {
      if (this.#size <= this.#capacity) break
      this.#remove(oldest)
      this.#evicted(evicted, oldest)
    }
    return true
  }

  /** Keeps it if nothing else has to go for it. Answers whether it is kept. */
  setIfRoom(key: K, value: V, size: number): boolean {
    return this.#size + size <= this.#capacity && this.set(key, value, size)
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }

  #remove(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#size -= entry.size
  }
}
