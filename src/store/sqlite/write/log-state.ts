import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { failure, messageOf, ShoalError } from '../../../base/errors.ts'
import { sqliteCode, sqliteCodes } from '../../../base/sqlite-codes.ts'
import type { StreamKey } from '../../../protocol/index.ts'
import {
  endChunk,
  headRow,
  isOwnStream,
  KeptHeads,
  LamportClock,
  nameOfStream,
  noRoomForStream,
  ownStreamKey,
  StreamBudget,
  type StreamHead,
  type StreamLimit,
  startOfStream,
  storableNow,
  type TopicContext,
} from '../../../replication/index.ts'
import type { Random } from '../../../runtime/random.ts'
import { BackgroundReporter } from '../../disk/background.ts'
import { CountFile } from '../../disk/count-file.ts'
import { storageError } from '../../disk/disk-io-error.ts'
import type { DiskSync } from '../../disk/sync.ts'
import { checkWal, removeDamagedCopy, type StoreDamage } from '../../disk/wal-check.ts'
import type { StreamNumber } from '../../port/index.ts'
import { openForWriting, refuseFutureFile, rewriteVersion, upgrade } from '../log-database.ts'
import { checkpointCrc } from '../rows/checkpoints.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { frozenStreams } from '../rows/evidence.ts'
import { introductionsOf, putIntroduction } from '../rows/introductions.ts'
import { rowKey } from '../rows/row-key.ts'
import { type StreamRow, streamCrc, vacantRow } from '../rows/stream-row.ts'
import { loadStreams, newStream, type StreamState } from '../rows/stream-state.ts'
import type { TailRow } from '../rows/tail-row.ts'
import { prepareStatements, type Statements } from '../statements.ts'
import { freeRangeId } from '../tag-index/index-ranges.ts'
import { type CutBack, cutBack } from './cut-back.ts'
import { checkWriter } from './log-owner.ts'
import { checkRedactions } from './redactions.ts'
import { removeStream } from './remove-rows.ts'

export interface LogOptions extends TopicContext {
  readonly file: string
  /** Source of the seeds of payload salts. */
  readonly random: Random
  /** Called when scrubbing redacted payloads failed while the log was opened. */
  readonly onScrubFailed?: (error: unknown) => void
  /** Reports failures of background work. */
  readonly background?: BackgroundReporter
  /** The implementation of fsync; replaced in tests. */
  readonly sync?: DiskSync
}

/** The state of the writer of a log: the database, the position of each stream, and the clock. */
export class LogState {
  readonly options: LogOptions
  readonly background: BackgroundReporter
  /** Streams whose new counts have to be published to the readers. */
  readonly changed = new Set<StreamState>()
  readonly clock = new LamportClock()
  /** The streams with evidence of a fork: nothing is added to them any more. */
  readonly frozen = new Set<StreamNumber>()
  /** Number of chunks that have ended since the log was opened. */
  chunksEnded = 0
  /** Whether a number has got another stream, or none, which has to be published to the readers. */
  slotsChanged = false
  #database: DatabaseSync
  #streams = new Map<string, StreamState>()
  /** Cache of own streams by number: computing their names is slower. */
  readonly #own = new Map<number, StreamState>()
  /** Number of slots: of streams, and vacant ones. */
  #slots = 0
  /** Slots that were vacant when the log was opened: no reader has read anything of another stream there. */
  readonly #reusable = new Set<StreamNumber>()
  #vacant: readonly StreamNumber[] = []
  #budget = new StreamBudget()
  #statements: Statements
  #lastRange = 0
  /** The connection failed and has to be reopened. */
  #broken = false
  /** BEGIN is deferred until the first write. */
  #isBeginPending = false
  /** Whether removed data may still be in the files, because a scrub failed. */
  #isScrubPending = false
  /** Whether the format version was raised: a log that is only read keeps its version. */
  #isUpgraded = false
  /** Damage that was found while opening, and that did not prevent it. */
  readonly damage: readonly StoreDamage[]
  readonly #countFile: CountFile
  readonly #heads = new KeptHeads()

  constructor(options: LogOptions) {
    this.options = options
    refuseFutureFile(options.file)
    const interrupted = walBytes(options.file) > 0
    const damagedWal = checkWal(options.file, { keep: true })
    this.background = options.background ?? new BackgroundReporter()
    this.#countFile = new CountFile(options.file, 'events', { background: this.background, work: 'count_events' })
    this.#database = withWalDamage(damagedWal, () =>
      openForWriting(options.file, options.topic, options.kind, options.sync),
    )
    try {
      this.#statements = prepareStatements(this.#database)
      const cut = withWalDamage(damagedWal, () => this.#loadOrCutBack())
      for (const number of this.#vacant) this.#reusable.add(number)
      checkWriter(this.#database, options.key.publicKey, options.file)
      this.damage = this.#reportDamage(damagedWal, cut)
      if (interrupted) this.#finishScrubbing()
    } catch (error) {
      this.close()
      throw error
    }
  }

  get database(): DatabaseSync {
    return this.#database
  }

  get statements(): Statements {
    return this.#statements
  }

  get streams(): IterableIterator<StreamState> {
    return this.#streams.values()
  }

  stream(key: StreamKey): StreamState | undefined {
    return this.#streams.get(nameOfStream(key))
  }

  /** An own stream; a new one is created within the current transaction. */
  ownStream(number: number): StreamState {
    const known = this.#own.get(number)
    if (known !== undefined) return known
    const key = ownStreamKey(number, this.options)
    const state = this.stream(key) ?? this.addStream(key)
    this.#own.set(number, state)
    return state
  }

  /** The limit that keeps a stream from being added; undefined when there is none. */
  limitOf(key: StreamKey, from?: string): StreamLimit | undefined {
    const slots = this.#slots - this.#reusable.size
    return this.#budget.limitOf({ ...key, own: isOwnStream(key, this.options) }, slots, from)
  }

  /** Adds a stream within the current transaction. Throws when it exceeds a limit. */
  addStream(key: StreamKey, from?: string): StreamState {
    const { topic, kind } = this.options
    const limit = this.limitOf(key, from)
    if (limit !== undefined) throw noRoomForStream(limit)
    const own = isOwnStream(key, this.options)
    const state = newStream(this.#takeSlot(), startOfStream(topic, kind, key, own))
    this.#streams.set(nameOfStream(key), state)
    this.#budget.add({ ...key, own }, from)
    this.changed.add(state)
    this.saveStream(state)
    if (from !== undefined && !own) putIntroduction(this.#database, state.number, from)
    return state
  }

  /**
   * Forgets a stream of another node, within the current transaction: its slot is vacant. To readers all of its events
   * are pruned. The slot is reused after the next start only: a reader may have positions in the stream.
   */
  vacate(state: StreamState): void {
    this.#begin()
    const { number, key, count } = state
    this.#budget.remove(key, introductionsOf(this.#database).get(number))
    removeStream(this.#database, number)
    const row = vacantRow(number, count)
    this.#statements.putStream.run(number, row.node, row.nr, row.pruned, row.checkpoint, row.record, row.head, row.crc)
    this.#streams.delete(nameOfStream(key))
    this.frozen.delete(number)
    state.pruned = count
    state.sealed = count
    state.revision++
    this.changed.add(state)
    this.slotsChanged = true
  }

  #takeSlot(): StreamNumber {
    const [vacant] = this.#reusable
    if (vacant === undefined) return this.#slots++
    // Not added again if the transaction fails: it is reusable after the next start.
    this.#reusable.delete(vacant)
    this.slotsChanged = true
    return vacant
  }

  /** Writes the row of a stream. */
  saveStream(state: StreamState, changed: Partial<Pick<StreamRow, 'record' | 'head'>> = {}): void {
    this.#begin()
    const { number, key, pruned, checkpoint } = state
    const kept = this.#statements.getStream.get(number) as unknown as Pick<StreamRow, 'record' | 'head'> | undefined
    const row = {
      number,
      node: key.node,
      nr: key.number,
      pruned,
      checkpoint,
      record: null,
      head: null,
      ...kept,
      ...changed,
    }
    this.#statements.putStream.run(number, row.node, row.nr, pruned, checkpoint, row.record, row.head, streamCrc(row))
  }

  /** Stores the newest head of a stream of another node: only that node can sign one. */
  saveHead(state: StreamState, head: Uint8Array): void {
    this.saveStream(state, { head })
  }

  /** Reopens the connection after a failure, so that decisions before a transaction are based on what is on disk. */
  reopenIfBroken(): void {
    if (this.#broken) this.#reopen()
  }

  /**
   * Runs work in one transaction. Once it returns, all of it is on disk. When it throws, nothing is, except after an I/O
   * error during the commit, when all of it may be.
   */
  transaction<T>(work: () => T): T {
    return this.#withRecovery(() => this.#inTransaction(work))
  }

  /**
   * Like `transaction`, but with a deferred BEGIN: a commit of a single tail row uses autocommit. All writes have to go
   * through the methods of this class.
   */
  lazyTransaction<T>(work: () => T): T {
    return this.#withRecovery(() => {
      this.#isBeginPending = true
      const result = work()
      if (this.#database.isTransaction) this.#statements.commit.run()
      return result
    })
  }

  #inTransaction<T>(work: () => T): T {
    this.#statements.begin.run()
    const result = work()
    this.#statements.commit.run()
    return result
  }

  #begin(): void {
    if (this.#isBeginPending) this.#statements.begin.run()
    this.#isBeginPending = false
  }

  #withRecovery<T>(work: () => T): T {
    if (this.#broken) this.#reopen()
    try {
      if (!this.#isUpgraded) upgrade(this.#database)
      this.#isUpgraded = true
      return work()
    } catch (error) {
      this.#recover(error)
      throw asStorageError(error, this.options.file)
    } finally {
      this.#isBeginPending = false
    }
  }

  /**
   * A transaction that overwrites freed pages. `FAST` is not enough: a page that is freed and reused in one transaction
   * keeps the old bytes that the new content does not cover.
   */
  erasingTransaction<T>(work: () => T): T {
    if (this.#broken) this.#reopen()
    this.#database.exec('PRAGMA secure_delete = ON')
    try {
      return this.transaction(work)
    } finally {
      if (this.#database.isOpen) this.#database.exec('PRAGMA secure_delete = FAST')
    }
  }

  /** Inserts a row. With `autocommit` it has to be the only write of a lazy transaction, and needs no BEGIN and COMMIT. */
  insertTail({ key, count, lamport, hash, raw, crc, body }: TailRow, autocommit = false): void {
    if (!autocommit) this.#begin()
    this.#statements.insertTail.run(key, count, lamport, hash, raw, crc, body)
  }

  /** The newest signed head of a stream. */
  head(number: StreamNumber): Uint8Array | undefined {
    this.reopenIfBroken()
    const state = [...this.streams].find((stream) => stream.number === number)
    return state && this.#heads.newest(state, this.options, () => this.#receivedHead(number))
  }

  /** The newest signed head of an own stream, by its key. */
  ownHead(key: StreamKey): Uint8Array | undefined {
    if (this.#broken) this.#reopen()
    const state = this.stream(key)
    return state?.own === true ? this.#heads.newest(state, this.options, () => undefined) : undefined
  }

  /** The own streams in the head table. */
  ownHeads(): StreamHead[] {
    if (this.#broken) this.#reopen()
    return [...this.streams].flatMap((state) => {
      const head = state.own ? this.#heads.newest(state, this.options, () => undefined) : undefined
      return head === undefined ? [] : [headRow(state, head)]
    })
  }

  #receivedHead(number: StreamNumber): Uint8Array | undefined {
    return (this.#statements.getStream.get(number)?.['head'] ?? undefined) as Uint8Array | undefined
  }

  /** Writes the row of a checkpoint. */
  putCheckpoint(key: number, before: number, head: Uint8Array): void {
    this.#begin()
    this.#statements.insertCheckpoint.run(key, before, head, checkpointCrc({ key, before, head }))
  }

  /** Ends the last chunk of a stream with a checkpoint. */
  insertCheckpoint(state: StreamState, signed: Uint8Array): void {
    this.putCheckpoint(rowKey(state.number, state.count), state.checkpoint, signed)
    endChunk(state)
    state.unsealedChunksAtMost++
    this.chunksEnded++
    this.saveStream(state)
  }

  /** The ID of a new index range. IDs are never reused: a reader could mistake the range for a deleted one. */
  newRangeId(): number {
    this.#lastRange = Math.max(freeRangeId(this.#database), this.#lastRange + 1)
    return this.#lastRange
  }

  /** The wall clock. Throws when its time cannot be stored. */
  now(): number {
    return storableNow(this.options)
  }

  /** A write without effect, to find out whether the disk works. */
  probe(): void {
    this.transaction(() => rewriteVersion(this.#database))
  }

  /** Runs a checkpoint of the write-ahead log. */
  checkpointWal(mode: 'PASSIVE' | 'TRUNCATE'): void {
    try {
      this.#database.exec(`PRAGMA wal_checkpoint(${mode})`)
    } catch (error) {
      throw asStorageError(error, this.options.file)
    }
  }

  get isScrubPending(): boolean {
    return this.#isScrubPending
  }

  /** Removes deleted data from the files: truncates free pages and the write-ahead log. */
  scrub(): void {
    this.#isScrubPending = true
    try {
      removeDamagedCopy(this.options.file)
      this.#database.exec('PRAGMA incremental_vacuum')
      // A reader that has pinned an older snapshot blocks this.
      const { busy } = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
      if (busy !== 0)
        throw failure('ERR_STORAGE', { cause: 'what was removed is still being read, and not yet scrubbed' })
      this.#isScrubPending = false
    } catch (error) {
      throw asStorageError(error, this.options.file)
    }
  }

  /** Writes the number of committed events to the count file, so that the next start detects lost ones. */
  recordEventCount(): void {
    if (!this.#broken) this.#countFile.record(this.#events)
  }

  close(): void {
    this.#countFile.close()
    // It is closed already after a failure that could not be recovered from.
    if (this.#database.isOpen) this.#database.close()
  }

  /** The number of events of all streams, including pruned ones. */
  get #events(): number {
    let events = 0
    for (const { count } of this.streams) events += count
    return events
  }

  /** The damage to report at startup, only once: a damaged log is checkpointed, and the lower count is recorded. */
  #reportDamage(damagedWal: StoreDamage | undefined, cut: CutBack): readonly StoreDamage[] {
    const missing = this.#countFile.compare(this.#events + cut.events)
    if (damagedWal !== undefined) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    if (missing !== undefined || cut.events > 0) this.recordEventCount()
    return [damagedWal, missing, ...cut.damage].filter((found) => found !== undefined)
  }

  /** Loads the streams. Damaged ones of other nodes are cut back first: they can be received again. */
  #loadOrCutBack(): CutBack {
    try {
      this.#load()
      return { damage: [], events: 0, lamport: -1 }
    } catch (error) {
      // Nobody else has imported events.
      if (!(error instanceof DamagedData) || this.options.kind === 'imported') throw error
    }
    // With another key, own streams would look like those of another node.
    checkWriter(this.#database, this.options.key.publicKey, this.options.file)
    const cut = cutBack(this.#database, this.options)
    this.#load()
    this.clock.follow(cut.lamport)
    return cut
  }

  /** Scrubs after a crash, which may have happened between a redaction and its scrub. */
  #finishScrubbing(): void {
    if (this.#database.prepare('SELECT 1 FROM redaction LIMIT 1').get() === undefined) return
    try {
      this.scrub()
    } catch (error) {
      // With a full disk the log is still readable. The next redaction and the next start retry.
      this.options.onScrubFailed?.(error)
    }
  }

  /** After a failure the memory may be ahead of the disk, so the state is reloaded from there. */
  #recover(error: unknown): void {
    // What is not on disk is never published, even if reloading fails.
    this.changed.clear()
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      // After an invalid request or on a full disk the connection is still usable; after other errors it may not be.
      if (sqliteCode(error) === undefined || sqliteCode(error) === sqliteCodes.full) {
        this.#load()
        return
      }
    } catch {
      // The connection is unusable and is reopened below. The caller gets the original error.
    }
    this.#broken = true
    try {
      this.#reopen()
    } catch {
      // The caller gets the original error. The next transaction retries, and throws this one if it persists.
    }
  }

  #reopen(): void {
    const { file, topic, kind } = this.options
    try {
      if (this.#database.isOpen) this.#database.close()
      this.#database = openForWriting(file, topic, kind)
      this.#statements = prepareStatements(this.#database)
      this.#load()
      this.#broken = false
    } catch (error) {
      throw storageError(error, file)
    }
  }

  #load(): void {
    const { topic, kind, key } = this.options
    const before = this.#streams
    this.#own.clear()
    asDamage(() => checkRedactions(this.#database))
    const { states, vacant } = asDamage(() => loadStreams(this.#database, { topic, kind, own: key.publicKey }))
    this.#streams = new Map(states.map((state) => [nameOfStream(state.key), state]))
    this.#slots = states.length + vacant.length
    this.#vacant = vacant
    const introductions = introductionsOf(this.#database)
    this.#budget = new StreamBudget()
    for (const { key: stream, own, number } of states) this.#budget.add({ ...stream, own }, introductions.get(number))
    // Always a new revision: seals and merges that were planned before must not be applied.
    for (const [name, state] of this.#streams) state.revision = (before.get(name)?.revision ?? 0) + 1
    this.frozen.clear()
    for (const number of asDamage(() => frozenStreams(this.#database))) this.frozen.add(number)
    this.changed.clear()
    for (const state of this.streams) this.changed.add(state)
    for (const { lamport } of this.streams) this.clock.follow(lamport)
  }
}

/** Without the frames of a damaged write-ahead log the database may be unusable: then the error reports both. */
function withWalDamage<T>(damaged: StoreDamage | undefined, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (damaged === undefined) throw error
    throw new ShoalError('ERR_INVALID_NODE_STATE', `${messageOf(error)}. ${damaged.text}`, { cause: error })
  }
}

/** Translates errors of SQLite; others stay as they are. */
function asStorageError(error: unknown, file: string): unknown {
  return sqliteCode(error) === undefined ? error : storageError(error, file)
}

/** Size of the write-ahead log: 0 after a clean close. */
function walBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
