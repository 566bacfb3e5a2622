import { format } from '../../../base/format.ts'
import { LruCache } from '../../../base/lru-cache.ts'

/** Size of a bucket in keys of events: most entries are in one or two buckets. */
const keysPerBucket = format.eventsPerBlock

interface Entry<V> {
  readonly count: number
  readonly value: V
}

/** LRU cache of values that cover consecutive events, found by the key of any of them. */
export class RangeCache<V> {
  readonly #entries: LruCache<number, Entry<V>>
  /** Of each bucket: the first keys of the entries that have events in it. */
  readonly #buckets = new Map<number, number[]>()

  constructor(capacityBytes: number, evicted: (value: V) => void = () => {}) {
    this.#entries = new LruCache(capacityBytes, ({ count, value }, first) => {
      this.#removeFromBuckets(first, count)
      evicted(value)
    })
  }

  /** Changes the capacity; evicts what exceeds a smaller one. */
  set capacity(bytes: number) {
    this.#entries.capacity = bytes
  }

  get(key: number): V | undefined {
    for (const first of this.#buckets.get(Math.floor(key / keysPerBucket)) ?? []) {
      if (key < first) continue
      const entry = this.#entries.peek(first)
      if (entry !== undefined && key < first + entry.count) return this.#entries.get(first)?.value
    }
    return undefined
  }

  /** Caches a value for `count` keys; evicts others for it unless `onlyIfRoom` is set. Returns whether it is cached. */
  put(first: number, count: number, value: V, bytes: number, onlyIfRoom = false): boolean {
    const before = this.#entries.peek(first)
    if (before !== undefined) this.#removeFromBuckets(first, before.count)
    const entry = { count, value }
    const isCached = onlyIfRoom ? this.#entries.setIfRoom(first, entry, bytes) : this.#entries.set(first, entry, bytes)
    if (!isCached) return false
    for (let bucket = Math.floor(first / keysPerBucket); bucket * keysPerBucket < first + count; bucket++) {
      const known = this.#buckets.get(bucket)
      if (known === undefined) this.#buckets.set(bucket, [first])
      else known.push(first)
    }
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#buckets.clear()
  }

  #removeFromBuckets(first: number, count: number): void {
    for (let bucket = Math.floor(first / keysPerBucket); bucket * keysPerBucket < first + count; bucket++) {
      const left = (this.#buckets.get(bucket) ?? []).filter((other) => other !== first)
      if (left.length === 0) this.#buckets.delete(bucket)
      else this.#buckets.set(bucket, left)
    }
  }
}
