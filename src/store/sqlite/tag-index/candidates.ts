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
      const end = Math.min(to, this.#startAfter(from) - 1)
      return { candidates: { kind: 'all', from, to: end }, next: end + 1 }
    }
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
      const start = Math.max(from, this.#endBefore(to))
      return { candidates: { kind: 'all', from: start, to }, next: start - 1 }
    }
    const start = Math.max(from, index.first)
    const window = this.#windowUpTo(index, to)
    if (window === undefined || window[1] < start) return { candidates: none, next: start - 1 }
    const positions = this.#positions(index)
    if (positions !== undefined) return { candidates: within(index, positions, start, window[1]), next: start - 1 }
    const windowStart = Math.max(start, window[0])
    return { candidates: { kind: 'all', from: windowStart, to: window[1] }, next: windowStart - 1 }
  }

  /** The index of the events around an offset. Of unsealed ones it goes to `to` at least. */
  #indexAt(offset: number, to: number): IndexedEvents | undefined {
    if (offset < this.#sealed) return this.#reader.index.rangeAt(this.#stream, offset)
    const { tailIndexes } = this.#reader
    const known = tailIndexes.known(this.#stream)
    // The index would be extended by reading the events that are to be read anyway.
    if (this.#wanted.isLive && offset >= (known?.end ?? 0)) return undefined
    return tailIndexes.upTo(this.#stream, to)
  }

  /** The first event that is not sealed. */
  get #sealed(): number {
    return this.#reader.counts.sealed(this.#stream)
  }

  /** Where the index goes on after events without one. */
  #startAfter(offset: number): number {
    const sealed = this.#sealed
    if (offset >= sealed) return Number.POSITIVE_INFINITY
    return this.#reader.index.ranges(this.#stream).find(({ first }) => first > offset)?.first ?? sealed
  }

  #endBefore(offset: number): number {
    const sealed = this.#sealed
    if (offset >= sealed) return sealed
    const range = this.#reader.index.ranges(this.#stream).findLast(({ first }) => first <= offset)
    return range === undefined ? 0 : Math.min(offset, range.first + range.count)
  }

  /** The first run of events from an offset on that may be within the range of times. */
  #windowFrom({ first, count, times }: IndexedEvents, offset: number): Window | undefined {
    if (this.#wanted.times === undefined || times === undefined) return [offset, first + count - 1]
    return shifted(times.windowFrom(offset - first, this.#wanted.times), first)
  }

  #windowUpTo({ first, times }: IndexedEvents, offset: number): Window | undefined {
    if (this.#wanted.times === undefined || times === undefined) return [first, offset]
    return shifted(times.windowUpTo(offset - first, this.#wanted.times), first)
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
    if (offset >= from && offset <= to) offsets.push(offset)
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
