import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import { applySeal, buildSeal, planSeal, type Sealed, type SealPlan } from '../seal/sealing.ts'
import { applyMerge, buildMerge, type Merged, type MergePlan, planMerge } from '../tag-index/merging.ts'
import { dropIndexAt, reindexNext } from '../tag-index/reindex.ts'
import { applyTimes, type BuiltTimes, buildTimes, planTimes, type TimesPlan } from '../time-index/missing-times.ts'
import { hasTimes } from '../time-index/range-times.ts'
import type { LogState } from './log-state.ts'
import type { Publication } from './publication.ts'

/**
 * The upkeep of a log: sealing of complete chunks, merging and rebuilding of the tag index, the time index. What takes
 * long is planned here, built by another thread, and applied here.
 */
export class LogUpkeep {
  readonly #log: LogState
  readonly #publication: Publication
  /** Whether the index has changed since there was last nothing to merge: planning a merge queries all ranges. */
  #mayMerge = true
  /** Whether an index range may have no times: planning their times queries all ranges, too. */
  #mayLackTimes = true
  /** Ranges whose times could not be read. */
  readonly #unreadableTimes = new Set<number>()

  constructor(log: LogState, publication: Publication) {
    this.#log = log
    this.#publication = publication
  }

  /** Called when events were removed: there may be index ranges to merge. */
  noteRemoval(): void {
    this.#mayMerge = true
  }

  /** Plans the next seal, if a stream has at least `leastChunks` complete chunks. */
  planSeal(leastChunks = 1): SealPlan | undefined {
    return planSeal(this.#log, leastChunks)
  }

  /** Whether the backlog of unsealed chunks is so large that appending has to wait (backpressure). */
  get isSealBacklogFull(): boolean {
    return this.hasSealBacklog(tuning.maxUnsealedChunks)
  }

  /** Whether a stream has more unsealed chunks than a maximum. */
  hasSealBacklog(maxChunks: number): boolean {
    const maxEvents = maxChunks * format.eventsPerCheckpoint
    for (const { sealable, checkpoint, sealed, unsealedChunksAtMost } of this.#log.streams) {
      // By chunks as well, since those of large events have few of them. Their number is unknown before the first plan.
      const chunks = Number.isFinite(unsealedChunksAtMost) ? unsealedChunksAtMost : 0
      if (sealable && (checkpoint - sealed > maxEvents || chunks > maxChunks)) return true
    }
    return false
  }

  /** Replaces rows of the tail by sealed chunks; false when the plan is outdated. */
  applySeal(sealed: Sealed): boolean {
    return this.#indexing(() => {
      try {
        return applySeal(this.#log, sealed)
      } finally {
        this.#publication.publish()
      }
    })
  }

  /** Excludes a stream from sealing, since a chunk of it is damaged. */
  disableSealing({ stream, revision }: SealPlan): void {
    for (const state of this.#log.streams)
      if (state.number === stream && state.revision === revision) state.sealable = false
  }

  /** Plans the next merge of index ranges, if there are enough of them. */
  planMerge(): MergePlan | undefined {
    if (!this.#mayMerge) return undefined
    const plan = planMerge(this.#log)
    this.#mayMerge = plan !== undefined
    return plan
  }

  applyMerge(merged: Merged): boolean {
    return this.#indexing(() => applyMerge(this.#log, merged))
  }

  /** Plans the times of an index range that has none. */
  planTimes(): TimesPlan | undefined {
    if (!this.#mayLackTimes || !hasTimes(this.#log.database)) return undefined
    const plan = planTimes(this.#log, this.#unreadableTimes)
    this.#mayLackTimes = plan !== undefined
    return plan
  }

  applyTimes(built: BuiltTimes): boolean {
    return this.#indexing(() => applyTimes(this.#log, built))
  }

  /** Whether nothing was removed from the stream since the plan was made. */
  isCurrent({ range, revision }: TimesPlan): boolean {
    return [...this.#log.streams].some(({ number, revision: now }) => number === range.stream && now === revision)
  }

  /** Leaves a range without times, since events of it are damaged: a query that reads them fails. */
  skipTimes({ range }: TimesPlan): void {
    this.#unreadableTimes.add(range.id)
  }

  /** Drops the damaged ranges of a merge plan. */
  dropDamagedIndex({ stream, ranges }: MergePlan): void {
    for (const { first } of ranges) this.dropIndexAt(stream, first)
  }

  /** Seals chunks in the calling thread. */
  sealInline(plan: SealPlan): boolean {
    return this.applySeal(buildSeal(this.#log.database, plan))
  }

  /** Seals all complete chunks and completes the index, in the calling thread. */
  sealAll(): void {
    for (let plan = this.planSeal(); plan !== undefined; plan = this.planSeal()) this.sealInline(plan)
    for (let plan = this.planMerge(); plan !== undefined; plan = this.planMerge())
      this.applyMerge(buildMerge(this.#log.database, plan))
    for (let plan = this.planTimes(); plan !== undefined; plan = this.planTimes())
      this.applyTimes(buildTimes(this.#log.database, plan))
  }

  /** Rebuilds a missing range of the index. Returns whether there was one. */
  reindexNext(): boolean {
    const done = reindexNext(this.#log)
    if (done) this.#onIndexChanged()
    return done
  }

  /** Drops a damaged range of the index. It is rebuilt when the writer is idle. */
  dropIndexAt(stream: number, offset: number): void {
    this.#indexing(() => dropIndexAt(this.#log, stream, offset))
  }

  #indexing<T>(work: () => T): T {
    try {
      return work()
    } finally {
      this.#onIndexChanged()
    }
  }

  #onIndexChanged(): void {
    this.#mayMerge = true
    this.#mayLackTimes = true
    this.#publication.noteIndexChange()
  }
}
