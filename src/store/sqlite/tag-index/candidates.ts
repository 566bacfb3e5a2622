import { assert } from '../../../base/assert.ts'
import type { StreamNumber, TimeRange } from '../../port/index.ts'
import type { BlockReader } from '../read/block-reader.ts'
import type { Window } from '../time-index/time-groups.ts'
import type { BranchSet, WantedHashes } from './branch-set.ts'
import type { IndexedEvents } from './indexed-events.ts'

/** Events of a stream that may match: all in a range of offsets, or some of them by the index. */
export type Candidates =
  | { readonly kind: 'all'; readonly from: number; readonly to: number }
  | { readonly kind: 'some'; readonly offsets: readonly number[] }

/** Candidates, and the offset at which to continue. */
interface Found {
  readonly candidates: Candidates
  readonly next: number
}

/** What to look for in a stream: labels, and a range of times. */
export interface Wanted {
  readonly branches: BranchSet
  readonly times: TimeRange | undefined
  /** Whether events are read as they arrive. */
  readonly isLive: boolean
}

/** Finds candidates of one stream, range by range, in either direction. Both bounds are included. */
export class CandidateFinder {
  readonly #reader: BlockReader
  readonly #stream: StreamNumber
  readonly #wanted: Wanted
  /** Whether the index helps. Otherwise all events are read. */
  readonly #usesIndex: boolean

  constructor(reader: BlockReader, stream: StreamNumber, wanted: Wanted) {
    this.#reader = reader
    this.#stream = stream
    this.#wanted = wanted
    this.#usesIndex = wanted.branches.wanted !== undefined || wanted.times !== undefined
  }

  /** The first candidates within two offsets. */
  after(from: number, to: number): Found {
    if (!this.#usesIndex) return { candidates: { kind: 'all', from, to }, next: to + 1 }
    const index = this.#indexAt(from, to)
    if (index === undefined) {
      const end = Math.min(to, this.#nextRangeStart(from) - 1)
      return { candidates: { kind: 'all', from, to: end }, next: end + 1 }
    }
    assertContains(index, from)
    const end = Math.min(to, index.first + index.count - 1)
    const window = this.#windowFrom(index, from)
    if (window === undefined || window[0] > end) return { candidates: none, next: end + 1 }
    const positions = this.#positions(index)
    if (positions !== undefined) return { candidates: within(index, positions, window[0], end), next: end + 1 }
    const windowEnd = Math.min(end, window[1])
    return { candidates: { kind: 'all', from: window[0], to: windowEnd }, next: windowEnd + 1 }
  }

  /** The same backwards: the last candidates within two offsets. */
  before(from: number, to: number): Found {
    if (!this.#usesIndex) return { candidates: { kind: 'all', from, to }, next: from - 1 }
    const index = this.#indexAt(to, to)
    if (index === undefined) {
      const start = Math.max(from, this.#previousRangeEnd(to))
      return { candidates: { kind: 'all', from: start, to }, next: start - 1 }
    }
    assertContains(index, to)
    const start = Math.max(from, index.first)
    const window = this.#windowUpTo(index, to)
    if (window === undefined || window[1] < start) return { candidates: none, next: start - 1 }
    const positions = this.#positions(index)
    if (positions !== undefined) return { candidates: within(index, positions, start, window[1]), next: start - 1 }
    const windowStart = Math.max(start, window[0])
    return { candidates: { kind: 'all', from: windowStart, to: window[1] }, next: windowStart - 1 }
  }

  /** The index that contains an offset. If that is unsealed, the index reaches `to`, which is not before it. */
  #indexAt(offset: number, to: number): IndexedEvents | undefined {
    // Read once: it may rise at any time, and the index of unsealed events starts there.
    const sealed = this.#sealed
    if (offset < sealed) return this.#reader.index.rangeAt(this.#stream, offset)
    const { tailIndexes } = this.#reader
    // New events have to be read in any case: extending the index for them gains nothing.
    if (this.#wanted.isLive && offset >= (tailIndexes.known(this.#stream)?.end ?? 0)) return undefined
    return tailIndexes.extendedTo(this.#stream, sealed, to)
  }

  /** The first event that is not sealed. */
  get #sealed(): number {
    return this.#reader.counts.sealed(this.#stream)
  }

  /** Where the index goes on after events without one. */
  #nextRangeStart(offset: number): number {
    const sealed = this.#sealed
    if (offset >= sealed) return Number.POSITIVE_INFINITY
    return this.#reader.index.ranges(this.#stream).find(({ first }) => first > offset)?.first ?? sealed
  }

  #previousRangeEnd(offset: number): number {
    const sealed = this.#sealed
    if (offset >= sealed) return sealed
    const range = this.#reader.index.ranges(this.#stream).findLast(({ first }) => first <= offset)
    return range === undefined ? 0 : Math.min(offset, range.first + range.count)
  }

  /** The first run of events from an offset on that may be within the range of times. */
  #windowFrom(index: IndexedEvents, offset: number): Window | undefined {
    const { first, count } = index
    const all = [offset, first + count - 1] as const
    const { times } = this.#wanted
    if (times === undefined) return all
    if (!index.overlaps(times)) return undefined
    return index.times === undefined ? all : shifted(index.times.windowFrom(offset - first, times), first)
  }

  #windowUpTo(index: IndexedEvents, offset: number): Window | undefined {
    const { first } = index
    const { times } = this.#wanted
    if (times === undefined) return [first, offset]
    if (!index.overlaps(times)) return undefined
    return index.times === undefined ? [first, offset] : shifted(index.times.windowUpTo(offset - first, times), first)
  }

  /** The positions of candidates; undefined when scanning all events is faster. */
  #positions(index: IndexedEvents): readonly number[] | undefined {
    const { branches, times } = this.#wanted
    const positions = branches.wanted && lookUp(index, branches.wanted)
    return times === undefined || positions === undefined
      ? positions
      : (index.times?.filter(positions, times) ?? positions)
  }
}

/** A wrong index would lose events, or return some twice. */
function assertContains({ first, count }: IndexedEvents, offset: number): void {
  assert(first <= offset && offset < first + count, 'an index contains the event that it was looked up for')
}

const none: Candidates = { kind: 'some', offsets: [] }

function shifted(window: Window | undefined, by: number): Window | undefined {
  return window && [window[0] + by, window[1] + by]
}

/** The positions that the index has for labels; undefined when scanning all events is faster. */
function lookUp(index: IndexedEvents, labels: WantedHashes): readonly number[] | undefined {
  if (labels.kind === 'any') return index.positionsOfAny(labels.hashes)
  const lists: (readonly number[])[] = []
  for (const hashes of labels.hashes) {
    const positions = intersection(index, hashes)
    if (positions === undefined) return undefined
    lists.push(positions)
  }
  const [positions = []] = lists.length === 1 ? lists : [union(lists)]
  return positions
}

/** The intersection of the positions of all hashes; undefined when scanning all events is faster. */
function intersection(events: IndexedEvents, hashes: readonly number[]): readonly number[] | undefined {
  const lists: number[][] = []
  for (const hash of hashes) {
    const positions = events.positions(hash)
    if (positions === undefined) return undefined
    // Candidates are checked anyway.
    if (positions === 'most') continue
    if (positions.length === 0) return []
    lists.push(positions)
  }
  const [shortest, ...others] = lists.sort((a, b) => a.length - b.length)
  return shortest && others.reduce(intersect, shortest)
}

function within({ first }: IndexedEvents, positions: readonly number[], from: number, to: number): Candidates {
  const offsets: number[] = []
  for (const position of positions) {
    const offset = first + position
    // Two labels of an event may have the same hash.
    if (offset >= from && offset <= to && offset !== offsets.at(-1)) offsets.push(offset)
  }
  return { kind: 'some', offsets }
}

/** The union of several ascending lists, ascending. */
function union(lists: readonly (readonly number[])[]): number[] {
  return [...new Set(lists.flat())].sort((a, b) => a - b)
}

/** The intersection of two ascending lists; the first is the shorter one. */
function intersect(few: number[], many: number[]): number[] {
  const result: number[] = []
  let at = 0
  for (const position of few) {
    // Exponential search, for a much longer second list.
    let step = 1
    while (at + step < many.length && (many[at + step] as number) < position) {
      at += step
      step *= 2
    }
    while (at < many.length && (many[at] as number) < position) at++
    if (many[at] === position) result.push(position)
  }
  return result
}
