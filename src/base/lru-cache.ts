/** An LRU cache with a capacity in bytes: evicts the least recently used entries. */
export class LruCache<K, V> {
  readonly #entries = new Map<K, { value: V; size: number }>()
  #capacity: number
  /** Called for each evicted entry. */
  readonly #evicted: (value: V, key: K) => void
  #size = 0

  constructor(capacity: number, evicted: (value: V, key: K) => void = () => {}) {
    this.#capacity = capacity
    this.#evicted = evicted
  }

  /** Changes the capacity; evicts what exceeds a smaller one. */
  set capacity(bytes: number) {
    this.#capacity = bytes
    this.#evict()
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Gets a value without marking it as recently used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** Adds an entry. Returns false when it exceeds the capacity. */
  set(key: K, value: V, size: number): boolean {
    this.#remove(key)
    if (size > this.#capacity) return false
    this.#entries.set(key, { value, size })
    this.#size += size
    this.#evict()
    return true
  }

  /** Adds an entry only if nothing has to be evicted for it. Returns whether it was added. */
  setIfRoom(key: K, value: V, size: number): boolean {
    return this.#size + size <= this.#capacity && this.set(key, value, size)
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }

  #evict(): void {
    for (const [oldest, { value: evicted }] of this.#entries) {
      if (this.#size <= this.#capacity) break
      this.#remove(oldest)
      this.#evicted(evicted, oldest)
    }
  }

  #remove(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#size -= entry.size
  }
}
