import type { ReadStream } from '../../port/index.ts'
import type { BranchSet } from '../index/branch-set.ts'
import { CandidateFinder, type Candidates } from '../index/candidates.ts'
import type { LabelMatcher } from '../index/label-matcher.ts'
import type { BlockReader } from './block-reader.ts'
import type { LabelledBlock } from './labelled-block.ts'

/** How many events that are not selected pass between two looks at the clock. */
const clockEvery = 64

/** Walks over the selected events of one stream, in either direction. Its place is an offset, so it can stay anywhere for any time. */
export class StreamCursor {
  readonly stream: ReadStream
  /** The event it stands at. */
  block: LabelledBlock | undefined
  index = 0
  /** The lamport timestamp of that event; infinite when there is none left. */
  lamport = 0
  readonly #reader: BlockReader
  /** None where all events are selected. */
  readonly #matcher: LabelMatcher | undefined
  readonly #finder: CandidateFinder
  readonly #step: 1 | -1
  /** The offsets that are still to be looked at, both included. */
  #from: number
  #to: number
  #some: readonly number[] | undefined
  #someAt = 0
  /** The piece of the stream that is looked at event by event. */
  #pieceEnd = -1
  /** For each label of the block whether it is selected: 1 yes, 2 no, 0 not known yet. */
  #selected = new Uint8Array(0)
  #selectedOf: LabelledBlock | undefined

  constructor(reader: BlockReader, stream: ReadStream, branches: BranchSet, from: number, to: number, step: 1 | -1) {
    this.#reader = reader
    this.stream = stream
    this.#matcher = branches.matcher
    this.#finder = new CandidateFinder(reader, stream.number, branches)
    this.#from = from
    this.#to = to
    this.#step = step
  }

  /** Bytes of the block that it stands in. */
  get heldBytes(): number {
    return this.block?.heldBytes ?? 0
  }

  /** Raises the upper bound. Answers whether a cursor that was at its end has to be moved on now. */
  extend(to: number): boolean {
    if (to <= this.#to) return false
    this.#to = to
    if (Number.isFinite(this.lamport)) return false
    this.lamport = 0
    return true
  }

  /** Narrows the offsets that are still to be looked at. */
  narrow(narrowed: (from: number, to: number) => readonly [from: number, to: number]): void {
    ;[this.#from, this.#to] = narrowed(this.#from, this.#to)
  }

  /** Looks again at the event it stands at, which may have been removed, and answers whether it is there. */
  standAgain(): boolean {
    const offset = (this.block?.first ?? 0) + this.index
    this.forgetBlock()
    return this.#stand(offset)
  }

  /** Events of the block may have been removed: it is read again. */
  forgetBlock(): void {
    this.block = undefined
    this.#selectedOf = undefined
  }

  /** Goes to the next selected event, and answers whether there is one; `later` when the deadline passes before it is found. */
  next(deadline = Number.POSITIVE_INFINITY): boolean | 'later' {
    for (let looks = 1; ; looks++) {
      const offset = this.#nextCandidate()
      if (offset === undefined) {
        this.lamport = this.#step > 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
        // It may wait here for days.
        this.forgetBlock()
        return false
      }
      if (this.#stand(offset)) return true
      if (looks % clockEvery === 0 && this.#reader.clock.steadyMs() >= deadline) return 'later'
    }
  }

  /**
   * Passes over the events of the block after the one that it stands at, as far as all of them are selected and have
   * lamport timestamps below another. Answers the index after the last of them.
   */
  passRun(before: number): number {
    const { block, index } = this
    if (block === undefined || this.#step < 0 || !this.#inPiece()) return index + 1
    let last = Math.min(block.count, Math.min(this.#to, this.#pieceEnd) + 1 - block.first)
    while (last > index + 1 && (block.lamports[last - 1] as number) >= before) last--
    const end = this.#endOfSelected(block, index + 1, last)
    this.#from = Math.max(this.#from, block.first + end)
    return end
  }

  /** Up to which index events are selected; those that were removed make no difference. */
  #endOfSelected(block: LabelledBlock, from: number, to: number): number {
    if (this.#matcher === undefined) return to
    let end = from
    while (end < to && (block.isRemoved(end) || this.#isSelected(block, end))) end++
    return end
  }

  /** Goes to an offset, and answers whether the event there is selected; one that was pruned is not. */
  #stand(offset: number): boolean {
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
    if (block.isRemoved(this.index)) return false
    if (!this.#isSelected(block, this.index)) return false
    this.lamport = block.lamports[this.index] as number
    return true
  }

  /** Leaves out what was pruned meanwhile: to look for each of these events would take as long as to read them. */
  #skipPruned(): void {
    if (this.#step < 0) {
      // Everything before it was pruned as well.
      this.#to = this.#from - 1
      this.#some = undefined
      return
    }
    const pruned = this.#reader.prunedOf(this.stream.number)
    this.#from = Math.max(this.#from, pruned)
    this.#some = this.#some?.filter((offset, i) => i >= this.#someAt && offset >= pruned)
    this.#someAt = 0
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

  /** The next offset to look at. */
  #nextCandidate(): number | undefined {
    while (true) {
      if (this.#some !== undefined) {
        const offset = this.#step > 0 ? this.#some[this.#someAt] : this.#some[this.#some.length - 1 - this.#someAt]
        this.#someAt++
        if (offset !== undefined) return offset
        this.#some = undefined
      } else if (this.#inPiece()) {
        const offset = this.#step > 0 ? this.#from : this.#to
        if (this.#step > 0) this.#from++
        else this.#to--
        return offset
      } else if (this.#from > this.#to) {
        return undefined
      } else this.#nextPiece()
    }
  }

  #inPiece(): boolean {
    if (this.#from > this.#to || this.#pieceEnd < 0) return false
    return this.#step > 0 ? this.#from <= this.#pieceEnd : this.#to >= this.#pieceEnd
  }

  #nextPiece(): void {
    const { candidates, next } =
      this.#step > 0 ? this.#finder.after(this.#from, this.#to) : this.#finder.before(this.#from, this.#to)
    this.#take(candidates)
    if (candidates.kind === 'all') return
    if (this.#step > 0) this.#from = next
    else this.#to = next
  }

  #take(candidates: Candidates): void {
    if (candidates.kind === 'some') {
      this.#some = candidates.offsets
      this.#someAt = 0
      this.#pieceEnd = -1
    } else this.#pieceEnd = this.#step > 0 ? candidates.to : candidates.from
  }
}
