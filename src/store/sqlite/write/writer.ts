import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import type { Received } from '../../../replication/index.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import type { Appended, AppendRequest } from '../../port/index.ts'
import { applyMerge, buildMerge, type Merged, type MergePlan, planMerge } from '../index/merging.ts'
import { dropIndexAt, reindexNext } from '../index/reindex.ts'
import { type LogOptions, LogState } from '../log-state.ts'
import { SharedCounts } from '../read/shared-counts.ts'
import { applySeal, buildSeal, planSeal, type Sealed, type SealPlan } from '../seal/sealing.ts'
import { Appender } from './append.ts'
import { Receiver } from './receive.ts'
import { Remover } from './removal.ts'

/** The one writer of the log of a topic. Whatever a method has answered is on disk. */
export class LogWriter {
  readonly counts: SharedCounts
  readonly #log: LogState
  readonly #appender: Appender
  readonly #receiver: Receiver
  readonly #remover: Remover
  /** Whether streams have grown since `takeGrown` was called. */
  #grown = false
  /** Whether streams have grown by events whose apps are unknown: received ones. */
  #hasOthers = true
  /** Whether the index has changed since there was nothing to merge in it: to look for that asks the database for all of its ranges. */
  #mayMerge = true

  constructor(options: LogOptions, counts = new SharedCounts()) {
    this.counts = counts
    this.#log = new LogState(options)
    this.#appender = new Appender(this.#log)
    this.#receiver = new Receiver(this.#log)
    this.#remover = new Remover(this.#log, this.#receiver)
    this.#tell()
  }

  /** The lamport timestamp that the next own event gets. */
  get clock(): number {
    return this.#log.clock.next
  }

  /** How many chunks have ended since this was opened: only then there is more to seal. */
  get chunksEnded(): number {
    return this.#log.chunksEnded
  }

  append(requests: readonly AppendRequest[]): Appended[] {
    this.counts.tellAppending()
    return this.#telling(() => this.#appender.commit(requests))
  }

  /** The same for one request that comes in parts. When the next part cannot be had, nothing is stored. */
  appendParts(parts: Iterable<AppendRequest>): Appended {
    this.counts.tellAppending()
    return this.#telling(() => this.#appender.commitParts(parts))
  }

  /** Computes the deferred chain hash of the last append, off the latency path. */
  link(): void {
    this.#appender.link()
  }

  receive(chunk: Uint8Array): Received {
    this.#hasOthers = true
    return this.#telling(() => this.#receiver.receive(chunk))
  }

  /** Whether streams have grown since the last call by events that a live subscription waits for; resets it. */
  takeGrown(): boolean {
    const { apps } = this.#appender
    const grown = this.#grown && this.counts.isWaitedFor(this.#hasOthers ? undefined : apps)
    this.#grown = false
    this.#hasOthers = false
    apps.clear()
    return grown
  }

  prune(stream: number, count: number): Uint8Array {
    return this.#removing(() => this.#remover.pruneOwn(stream, count))
  }

  applyPrune(record: Uint8Array, head?: Uint8Array): void {
    // Events that waited for those before them may be stored now.
    this.#hasOthers = true
    this.#removing(() => this.#remover.prune(record, head))
  }

  redact(stream: number, offset: number): Uint8Array {
    return this.#removing(() => this.#remover.redactOwn(stream, offset))
  }

  applyRedaction(record: Uint8Array): void {
    this.#removing(() => this.#remover.redact(record))
  }

  /** The signed head of a stream, by its number in this database. */
  head(stream: number): Uint8Array | undefined {
    return this.#log.head(stream)
  }

  get database(): DatabaseSync {
    return this.#log.database
  }

  /** What to seal next, if a stream has so many chunks that wait for it. */
  planSeal(leastChunks = 1): SealPlan | undefined {
    return planSeal(this.#log, leastChunks)
  }

  /** Whether so much waits to be sealed that nothing should be added before some of it is. */
  get isBehind(): boolean {
    const most = tuning.maxUnsealedChunks * format.eventsPerCheckpoint
    for (const { sealable, checkpoint, sealed, mostWaiting } of this.#log.streams) {
      // Chunks of large events have few of them. How many chunks wait is not known before somebody has looked.
      const chunks = Number.isFinite(mostWaiting) ? mostWaiting : 0
      if (sealable && (checkpoint - sealed > most || chunks > tuning.maxUnsealedChunks)) return true
    }
    return false
  }

  /** Puts what was sealed in its place. */
  applySeal(sealed: Sealed): boolean {
    return this.#indexing(() => this.#telling(() => applySeal(this.#log, sealed)))
  }

  /** Leaves a stream as it is, since a part of it is damaged. */
  doNotSeal({ stream, revision }: SealPlan): void {
    for (const state of this.#log.streams)
      if (state.number === stream && state.revision === revision) state.sealable = false
  }

  /** Which parts of the index to merge next, if there are enough of them. */
  planMerge(): MergePlan | undefined {
    if (!this.#mayMerge) return undefined
    const plan = planMerge(this.#log)
    this.#mayMerge = plan !== undefined
    return plan
  }

  applyMerge(merged: Merged): boolean {
    return this.#indexing(() => applyMerge(this.#log, merged))
  }

  /** Drops those parts of the index that were to be merged and are damaged. */
  dropDamaged({ stream, ranges }: MergePlan): void {
    for (const { first } of ranges) this.dropIndexAt(stream, first)
  }

  /** Seals chunks in this thread. */
  sealHere(plan: SealPlan): boolean {
    return this.applySeal(buildSeal(this.#log.database, plan))
  }

  /** Seals everything that can be sealed, here and now. */
  sealAll(): void {
    for (let plan = this.planSeal(); plan !== undefined; plan = this.planSeal()) this.sealHere(plan)
    for (let plan = this.planMerge(); plan !== undefined; plan = this.planMerge())
      this.applyMerge(buildMerge(this.#log.database, plan))
  }

  /** Makes a piece of the index anew, if one is missing; answers whether one was. */
  reindexNext(): boolean {
    const done = reindexNext(this.#log)
    if (done) this.#tellIndexed()
    return done
  }

  /** Drops a piece of the index that was found damaged; it is made anew when there is time. */
  dropIndexAt(stream: number, offset: number): void {
    this.#indexing(() => dropIndexAt(this.#log, stream, offset))
  }

  /** Folds the write-ahead log back into the database. Its file stays: to write over it is faster than to let it grow again. */
  foldLog(): void {
    this.#log.checkpointLog('PASSIVE')
    this.noteCount()
  }

  /** The same, and gives its room back. */
  emptyLog(): void {
    this.#log.checkpointLog('TRUNCATE')
    this.noteCount()
  }

  /** Writes something that changes nothing, to see whether the disk works. */
  probe(): void {
    this.#log.probe()
  }

  /** Damage that was found when the log was opened. */
  get damage(): readonly StoreDamage[] {
    return this.#log.damage
  }

  /** Notes how many events there are beside the log. Nobody waits for it. */
  noteCount(): void {
    this.#log.noteCount()
  }

  close(): void {
    this.#log.noteCount()
    this.#log.close()
  }

  #telling<T>(work: () => T): T {
    try {
      return work()
    } finally {
      this.#tell()
    }
  }

  #indexing<T>(work: () => T): T {
    try {
      return work()
    } finally {
      this.#tellIndexed()
    }
  }

  #tellIndexed(): void {
    this.#mayMerge = true
    this.counts.tellSealed()
  }

  #removing<T>(work: () => T): T {
    try {
      return this.#telling(work)
    } finally {
      this.#mayMerge = true
      this.counts.tellRemoved()
    }
  }

  /**
   * Publishes a commit to the readers. Lamport timestamps of own events rise from commit to commit: each is taken from a clock
   * that is ahead of everything published before. So of two snapshots, the later one has own events only after those of the earlier one.
   */
  #tell(): void {
    const { changed, clock } = this.#log
    for (const { number, count, lamport } of changed) {
      assert(lamport < clock.next, 'the clock is ahead of all events that are published')
      assert(count >= this.counts.count(number), 'a stream never loses events that were published')
      if (count > this.counts.count(number)) this.#grown = true
    }
    this.counts.publish(changed)
    changed.clear()
  }
}
