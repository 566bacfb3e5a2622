import type { ReadStream } from '../../port/index.ts'
import { CandidateFinder, type Candidates, type Wanted } from '../tag-index/candidates.ts'
import type { LabelMatcher } from '../tag-index/label-matcher.ts'
import type { BlockReader } from './block-reader.ts'
import type { LabelledBlock } from './labelled-block.ts'

/** Events without a match between two checks of the clock. */
const eventsPerClock = 64
/** Steps of looking for candidates in the index between two checks of the clock: about two per range. */
const lookUpsPerClock = 8

const noLabels = new Uint8Array()

/** A cursor over the selected events of one stream, in either direction. Its position is an offset, so it can pause. */
export class StreamCursor {
  readonly stream: ReadStream
  /** The current event. */
  block: LabelledBlock | undefined
  index = 0
  /** The lamport timestamp of the current event; infinite at the end. */
  lamport = 0
  /** Whether `lamport` is only an upper bound, and the cursor is at no event yet. */
  isEstimate = false
  readonly #reader: BlockReader
  /** Undefined when all events are selected. */
  readonly #matcher: LabelMatcher | undefined
  readonly #finder: CandidateFinder
  readonly #step: 1 | -1
  /** The remaining offsets, both included. */
  #from: number
  #to: number
  /** Candidates from the index. */
  #candidates: readonly number[] | undefined
  #candidateAt = 0
  /** Where the scan without the index stops, in the direction of `step`, included; -1 for none. */
  #scanEnd = -1
  /** For each label of the block whether it is selected: 1 yes, 2 no, 0 unknown. */
  #selected = noLabels
  #selectedOf: LabelledBlock | undefined

  constructor(reader: BlockReader, stream: ReadStream, wanted: Wanted, from: number, to: number, step: 1 | -1) {
    this.#reader = reader
    this.stream = stream
    this.#matcher = wanted.branches.matcher
    this.#finder = new CandidateFinder(reader, stream.number, wanted)
    this.#from = from
    this.#to = to
    this.#step = step
  }

  /** Size of the current block. */
  get heldBytes(): number {
    return this.block?.heldBytes ?? 0
  }

  /**
   * Before the first event: sets a bound instead, without looking for the event. In descending order no event has a
   * greater lamport timestamp than the last one of the stream. Returns false when there is none.
   */
  estimate(): boolean {
    const newest = this.#from > this.#to ? undefined : this.#reader.lamportOf(this.stream.number, this.#to)
    if (newest === undefined) return false
    this.lamport = newest
    this.isEstimate = true
    return true
  }

  /** Raises the upper bound. Returns whether the cursor was at its end and has to be moved on. */
  extend(to: number): boolean {
    if (to <= this.#to) return false
    this.#to = to
    if (Number.isFinite(this.lamport)) return false
    this.lamport = 0
    return true
  }

  /** Narrows the remaining offsets. */
  narrow(narrowed: (from: number, to: number) => readonly [from: number, to: number]): void {
    ;[this.#from, this.#to] = narrowed(this.#from, this.#to)
  }

  /** Reads the current event again. Returns false if it was removed. */
  reload(): boolean {
    const offset = (this.block?.first ?? 0) + this.index
    this.dropBlock()
    return this.#seek(offset)
  }

  /** Drops the current block, since events of it may have been removed. */
  dropBlock(): void {
    this.block = undefined
    this.#selectedOf = undefined
  }

  /** Moves to the next selected event. Returns false at the end, and `later` when the deadline passes before. */
  next(deadline = Number.POSITIVE_INFINITY): boolean | 'later' {
    this.isEstimate = false
    for (let tried = 1, lookUps = 0; ; tried++) {
      const offset = this.#nextCandidate()
      if (offset === 'none yet') {
        // Looking up a range takes as long as trying several events.
        if (++lookUps % lookUpsPerClock === 0 && this.#reader.clock.steadyMs() >= deadline) return 'later'
        continue
      }
      if (offset === undefined) {
        this.lamport = this.#step > 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
        // A live cursor may stay here for days, so it holds no memory.
        this.dropBlock()
        return false
      }
      if (this.#seek(offset)) return true
      if (tried % eventsPerClock === 0 && this.#reader.clock.steadyMs() >= deadline) return 'later'
    }
  }

  /**
   * Moves over the events of the block after the current one, as long as they are selected and their lamport timestamps
   * are below `before`. Returns the index after the last of them.
   */
  advanceRun(before: number): number {
    const { block, index } = this
    if (block === undefined || this.#step < 0 || !this.#isScanning()) return index + 1
    let last = Math.min(block.count, Math.min(this.#to, this.#scanEnd) + 1 - block.first)
    while (last > index + 1 && (block.lamports[last - 1] as number) >= before) last--
    const end = this.#endOfSelected(block, index + 1, last)
    this.#from = Math.max(this.#from, block.first + end)
    return end
  }

  /** The index up to which all events are selected, ignoring removed ones. */
  #endOfSelected(block: LabelledBlock, from: number, to: number): number {
    if (this.#matcher === undefined) return to
    let end = from
    while (end < to && (block.isRedacted(end) || this.#isSelected(block, end))) end++
    return end
  }

  /** Moves to an offset. Returns whether its event exists and is selected. */
  #seek(offset: number): boolean {
    let block = this.block
    if (block === undefined || offset < block.first || offset >= block.first + block.count) {
      block = this.#reader.block(this.stream.number, offset, this.#step)
      this.block = block
      if (block === undefined) {
        this.#skipPruned()
        return false
      }
    }
    this.index = offset - block.first
    if (block.isRedacted(this.index)) return false
    if (!this.#isSelected(block, this.index)) return false
    this.lamport = block.lamports[this.index] as number
    return true
  }

  /** Skips pruned events at once: looking up each of them would take as long as reading it. */
  #skipPruned(): void {
    if (this.#step < 0) {
      // All events before it were pruned, too.
      this.#to = this.#from - 1
      this.#candidates = undefined
      return
    }
    const pruned = this.#reader.prunedOf(this.stream.number)
    this.#from = Math.max(this.#from, pruned)
    this.#candidates = this.#candidates?.filter((offset, i) => i >= this.#candidateAt && offset >= pruned)
    this.#candidateAt = 0
  }

  #isSelected(block: LabelledBlock, index: number): boolean {
    if (this.#matcher === undefined) return true
    if (this.#selectedOf !== block) {
      if (this.#selected.length < block.labelCount) this.#selected = new Uint8Array(block.labelCount)
      else this.#selected.fill(0)
      this.#selectedOf = block
    }
    const label = block.labelOf[index] as number
    if (this.#selected[label] === 0) this.#selected[label] = block.matches(index, this.#matcher) ? 1 : 2
    return this.#selected[label] === 1
  }

  /** The next offset to try; undefined at the end, `none yet` when a range of the index has no more candidates. */
  #nextCandidate(): number | 'none yet' | undefined {
    if (this.#candidates !== undefined) return this.#takeCandidate(this.#candidates)
    if (this.#isScanning()) return this.#step > 0 ? this.#from++ : this.#to--
    if (this.#from > this.#to) return undefined
    this.#findCandidates()
    return 'none yet'
  }

  #takeCandidate(candidates: readonly number[]): number | 'none yet' {
    const at = this.#candidateAt++
    const offset = this.#step > 0 ? candidates[at] : candidates[candidates.length - 1 - at]
    if (offset === undefined) this.#candidates = undefined
    return offset ?? 'none yet'
  }

  #isScanning(): boolean {
    if (this.#from > this.#to || this.#scanEnd < 0) return false
    return this.#step > 0 ? this.#from <= this.#scanEnd : this.#to >= this.#scanEnd
  }

  #findCandidates(): void {
    const { candidates, next } =
      this.#step > 0 ? this.#finder.after(this.#from, this.#to) : this.#finder.before(this.#from, this.#to)
    this.#setCandidates(candidates)
    if (candidates.kind === 'all') return
    if (this.#step > 0) this.#from = next
    else this.#to = next
  }

  #setCandidates(candidates: Candidates): void {
    if (candidates.kind === 'some') {
      this.#candidates = candidates.offsets
      this.#candidateAt = 0
      this.#scanEnd = -1
    } else if (this.#step > 0) {
      this.#from = candidates.from
      this.#scanEnd = candidates.to
    } else {
      this.#to = candidates.to
      this.#scanEnd = candidates.from
    }
  }
}
