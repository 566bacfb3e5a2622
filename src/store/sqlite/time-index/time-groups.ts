import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { ByteReader, ByteWriter } from '../../../protocol/index.ts'
import type { TimeRange } from '../../port/index.ts'

/** Target number of events in a group: about one block. */
const eventsPerGroup = format.eventsPerBlock

/** A run of positions, both included. */
export type Window = readonly [from: number, to: number]

/**
 * The earliest and latest times of consecutive events, in groups. Times need not ascend: clocks are set back. A query
 * bounded by time reads only the groups that overlap its range.
 */
export class TimeGroups {
  /** Of each group: the position after it, and its earliest and latest time. */
  readonly #ends: number[] = []
  readonly #earliest: number[] = []
  readonly #latest: number[] = []

  /** Number of events. */
  get count(): number {
    return this.#ends.at(-1) ?? 0
  }

  /** Memory size, approximately. */
  get heldBytes(): number {
    return 32 * this.#ends.length
  }

  /** Whether there may be events within a range of times. */
  overlaps(range: TimeRange): boolean {
    return this.windowFrom(0, range) !== undefined
  }

  /** The earliest and the latest time. */
  get bounds(): [earliest: number, latest: number] {
    return [Math.min(...this.#earliest), Math.max(...this.#latest)]
  }

  /** Adds the next events. */
  add(times: Iterable<number>): void {
    for (const time of times) this.addGroup(1, time, time)
  }

  /** Adds the next events, which join the last group if it has room for them. */
  addGroup(count: number, earliest: number, latest: number): void {
    assert(count > 0 && earliest <= latest, 'a group has events, and its times are in order')
    const last = this.#ends.length - 1
    const start = last < 1 ? 0 : (this.#ends[last - 1] as number)
    if (last >= 0 && this.count - start + count <= eventsPerGroup) {
      this.#ends[last] = this.count + count
      this.#earliest[last] = Math.min(this.#earliest[last] as number, earliest)
      this.#latest[last] = Math.max(this.#latest[last] as number, latest)
    } else {
      this.#ends.push(this.count + count)
      this.#earliest.push(earliest)
      this.#latest.push(latest)
    }
  }

  /** Appends the groups of the events that follow. */
  append(other: TimeGroups): void {
    let start = 0
    for (const [i, end] of other.#ends.entries()) {
      this.addGroup(end - start, other.#earliest[i] as number, other.#latest[i] as number)
      start = end
    }
  }

  /** The first run of groups from a position on that may have events within the range. */
  windowFrom(position: number, range: TimeRange): Window | undefined {
    let group = this.#groupAt(Math.max(0, position))
    while (group < this.#ends.length && !this.#overlaps(group, range)) group++
    if (group >= this.#ends.length) return undefined
    const from = Math.max(position, this.#startOf(group))
    while (group + 1 < this.#ends.length && this.#overlaps(group + 1, range)) group++
    return [from, (this.#ends[group] as number) - 1]
  }

  /** The last run of groups up to a position that may have events within the range. */
  windowUpTo(position: number, range: TimeRange): Window | undefined {
    let group = Math.min(this.#groupAt(position), this.#ends.length - 1)
    while (group >= 0 && !this.#overlaps(group, range)) group--
    if (group < 0) return undefined
    const to = Math.min(position, (this.#ends[group] as number) - 1)
    while (group > 0 && this.#overlaps(group - 1, range)) group--
    return [this.#startOf(group), to]
  }

  /** Without the positions that are in no overlapping group. They are in order. */
  filter(positions: readonly number[], range: TimeRange): number[] {
    let group = 0
    return positions.filter((position) => {
      while ((this.#ends[group] as number) <= position) group++
      return this.#overlaps(group, range)
    })
  }

  encode(): Buffer {
    const writer = new ByteWriter(16 * this.#ends.length + 16)
    // Not signed differences: times take up to 53 bits.
    const base = this.#earliest.reduce((least, time) => Math.min(least, time), Number.MAX_SAFE_INTEGER)
    writer.uvarint(base)
    let start = 0
    for (const [i, end] of this.#ends.entries()) {
      const [earliest, latest] = [this.#earliest[i] as number, this.#latest[i] as number]
      writer
        .uvarint(end - start)
        .uvarint(earliest - base)
        .uvarint(latest - earliest)
      start = end
    }
    return writer.written
  }

  /** Throws if the bytes are malformed. */
  static decode(bytes: Uint8Array): TimeGroups {
    const reader = new ByteReader(bytes)
    const groups = new TimeGroups()
    const base = reader.uvarint()
    let end = 0
    while (reader.remaining > 0) {
      end += reader.uvarint()
      const earliest = base + reader.uvarint()
      groups.#ends.push(end)
      groups.#earliest.push(earliest)
      groups.#latest.push(earliest + reader.uvarint())
    }
    return groups
  }

  /** Whether these are the bounds of the given times. Groups with events before `start` are not compared. */
  isOf(times: readonly number[], start = 0): boolean {
    if (times.length !== this.count) return false
    return this.#ends.every((end, group) => {
      const from = this.#startOf(group)
      if (from < start) return true
      const [earliest, latest] = bounds(times.slice(from, end))
      return earliest === this.#earliest[group] && latest === this.#latest[group]
    })
  }

  #overlaps(group: number, { from, to }: TimeRange): boolean {
    return (this.#latest[group] as number) >= from && (this.#earliest[group] as number) < to
  }

  #startOf(group: number): number {
    return group === 0 ? 0 : (this.#ends[group - 1] as number)
  }

  /** The group that contains a position; the number of groups if there is none. */
  #groupAt(position: number): number {
    let [low, high] = [0, this.#ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ends[middle] as number) <= position) low = middle + 1
      else high = middle
    }
    return low
  }
}

function bounds(times: readonly number[]): [earliest: number, latest: number] {
  return [Math.min(...times), Math.max(...times)]
}
