import type { StreamNumber } from '../../port/index.ts'
import type { BlockReader } from '../read/block-reader.ts'
import type { BranchSet } from './branch-set.ts'
import type { IndexRange } from './tag-index.ts'

/** Events of a stream that may match: all in a range of offsets, or some of them by the index. */
export type Candidates =
  | { readonly kind: 'all'; readonly from: number; readonly to: number }
  | { readonly kind: 'some'; readonly offsets: readonly number[] }

/** Finds candidates of one stream, range by range, in either direction. Both bounds are included. */
export class CandidateFinder {
  readonly #reader: BlockReader
  readonly #stream: StreamNumber
  readonly #branches: BranchSet

  constructor(reader: BlockReader, stream: StreamNumber, branches: BranchSet) {
    this.#reader = reader
    this.#stream = stream
    this.#branches = branches
  }

  /** The first candidates within two offsets, and the offset at which to continue. */
  after(from: number, to: number): { candidates: Candidates; next: number } {
    if (from >= this.#unindexed) return { candidates: { kind: 'all', from, to }, next: to + 1 }
    const range = this.#rangeAt(from)
    if (range === undefined) {
      const end = Math.min(to, this.#startAfter(from) - 1)
      return { candidates: { kind: 'all', from, to: end }, next: end + 1 }
    }
    const end = Math.min(to, range.first + range.count - 1)
    return { candidates: this.#inRange(range, from, end), next: end + 1 }
  }

  /** The same backwards: the last candidates within two offsets. */
  before(from: number, to: number): { candidates: Candidates; next: number } {
    const unindexed = this.#unindexed
    const range = to < unindexed ? this.#rangeAt(to) : undefined
    if (range === undefined) {
      const start = Math.max(from, to < unindexed ? this.#endBefore(to) : unindexed)
      return { candidates: { kind: 'all', from: start, to }, next: start - 1 }
    }
    const start = Math.max(from, range.first)
    return { candidates: this.#inRange(range, start, to), next: start - 1 }
  }

  /** The first event without an index. */
  get #unindexed(): number {
    return this.#reader.counts.sealed(this.#stream)
  }

  #ranges(): readonly IndexRange[] {
    return this.#branches.wanted === undefined ? [] : this.#reader.ranges(this.#stream)
  }

  #rangeAt(offset: number): IndexRange | undefined {
    return this.#branches.wanted === undefined ? undefined : this.#reader.rangeAt(this.#stream, offset)
  }

  #startAfter(offset: number): number {
    return this.#ranges().find(({ first }) => first > offset)?.first ?? Number.POSITIVE_INFINITY
  }

  #endBefore(offset: number): number {
    const range = this.#ranges().findLast(({ first }) => first <= offset)
    return range === undefined ? 0 : range.first + range.count
  }

  #inRange(range: IndexRange, from: number, to: number): Candidates {
    const { wanted } = this.#branches
    if (wanted === undefined) return { kind: 'all', from, to }
    if (wanted.kind === 'any') {
      const positions = this.#reader.positionsOfAny(range, wanted.hashes)
      return positions === undefined ? { kind: 'all', from, to } : within(range, positions, from, to)
    }
    const lists: (readonly number[])[] = []
    for (const hashes of wanted.hashes) {
      const positions = this.#intersection(range, hashes)
      if (positions === undefined) return { kind: 'all', from, to }
      lists.push(positions)
    }
    const [positions = []] = lists.length === 1 ? lists : [union(lists)]
    return within(range, positions, from, to)
  }

  /** The intersection of the positions of all hashes; undefined when scanning all events is faster. */
  #intersection(range: IndexRange, hashes: readonly number[]): readonly number[] | undefined {
    const lists: number[][] = []
    for (const hash of hashes) {
      const positions = this.#reader.positions(range, hash)
      if (positions === undefined) return undefined
      // Candidates are checked anyway.
      if (positions === 'most') continue
      if (positions.length === 0) return []
      lists.push(positions)
    }
    const [shortest, ...others] = lists.sort((a, b) => a.length - b.length)
    return shortest && others.reduce(intersect, shortest)
  }
}

function within(range: IndexRange, positions: readonly number[], from: number, to: number): Candidates {
  const offsets: number[] = []
  for (const position of positions) {
    const offset = range.first + position
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
