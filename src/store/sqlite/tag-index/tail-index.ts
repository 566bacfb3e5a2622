import { assert } from '../../../base/assert.ts'
import { firstAtLeast } from '../../../base/binary-search.ts'
import { format } from '../../../base/format.ts'
import type { TimeRange } from '../../port/index.ts'
import { TimeGroups } from '../time-index/time-groups.ts'
import type { IndexedEvents } from './indexed-events.ts'

const { eventsPerRange } = format

/** Unsorted pairs that a lookup may have to scan. */
const maxRecent = 256

/**
 * The index of the unsealed events of a stream, in memory. Like a stored range it has a pair of hash and position for
 * each label. New pairs are collected unsorted; when there are many, they are merged into the sorted ones.
 */
export class TailIndex implements IndexedEvents {
  readonly times = new TimeGroups()
  readonly first: number
  #sorted = new Float64Array()
  #recent: number[] = []

  constructor(first: number) {
    this.first = first
  }

  get count(): number {
    return this.times.count
  }

  /** The offset after the last event. */
  get end(): number {
    return this.first + this.count
  }

  get heldBytes(): number {
    return 8 * (this.#sorted.length + this.#recent.length) + this.times.heldBytes
  }

  /** Adds the next event. */
  add(hashes: readonly number[], count: number, time: number): void {
    const position = this.count
    assert(position < eventsPerRange, 'a tail is not longer than an index range')
    for (let i = 0; i < count; i++) this.#recent.push((hashes[i] as number) * eventsPerRange + position)
    this.times.addGroup(1, time, time)
    if (this.#recent.length > Math.max(maxRecent, this.#sorted.length / 4)) this.#sort()
  }

  overlaps(range: TimeRange): boolean {
    return this.times.overlaps(range)
  }

  positions(hash: number): number[] | 'most' {
    const found: number[] = []
    this.#collect(hash, found)
    return found.length > this.count / 2 ? 'most' : found
  }

  positionsOfAny(hashes: ReadonlySet<number>): number[] {
    const found: number[] = []
    for (const hash of hashes) this.#collect(hash, found)
    return [...new Set(found)].sort((a, b) => a - b)
  }

  /** Appends the positions of a hash, in order: recent events have greater ones. */
  #collect(hash: number, found: number[]): void {
    const [from, to] = [hash * eventsPerRange, (hash + 1) * eventsPerRange]
    const sorted = this.#sorted
    for (let at = firstAtLeast(sorted, from); at < sorted.length && (sorted[at] as number) < to; at++)
      found.push((sorted[at] as number) - from)
    for (const pair of this.#recent) if (pair >= from && pair < to) found.push(pair - from)
  }

  #sort(): void {
    const all = new Float64Array(this.#sorted.length + this.#recent.length)
    all.set(this.#sorted)
    all.set(this.#recent, this.#sorted.length)
    this.#sorted = all.sort()
    this.#recent = []
  }
}
