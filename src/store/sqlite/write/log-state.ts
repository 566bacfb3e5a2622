import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { messageOf, ShoalError } from '../../../base/errors.ts'
import type { StreamKey } from '../../../protocol/index.ts'
import {
  endChunk,
  LamportClock,
  ownStreamKey,
  type ReceiveContext,
  type StreamLimit,
  storableNow,
  type TopicContext,
} from '../../../replication/index.ts'
import type { Random } from '../../../runtime/random.ts'
import { BackgroundReporter } from '../../disk/background.ts'
import { CountFile } from '../../disk/count-file.ts'
import type { DiskSync } from '../../disk/sync.ts'
import { checkWal, type StoreDamage } from '../../disk/wal-check.ts'
import type { StreamNumber } from '../../port/index.ts'
import { refuseFutureFile } from '../log-database.ts'
import { checkpointCrc } from '../rows/checkpoints.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { frozenStreams } from '../rows/evidence.ts'
import { introductionsOf, putIntroduction } from '../rows/introductions.ts'
import { rowKey } from '../rows/row-key.ts'
import { type StreamRow, streamCrc, vacantRow } from '../rows/stream-row.ts'
import type { StreamState } from '../rows/stream-state.ts'
import type { TailRow } from '../rows/tail-row.ts'
import type { Statements } from '../statements.ts'
import { freeRangeId } from '../tag-index/index-ranges.ts'
import { type CutBack, cutBack } from './cut-back.ts'
import { LogConnection } from './log-connection.ts'
import { LogHeads } from './log-heads.ts'
import { checkWriter } from './log-owner.ts'
import { checkRedactions } from './redactions.ts'
import { removeStream } from './remove-rows.ts'
import { StartMarkRows } from './start-marks.ts'
import { StreamTable } from './stream-table.ts'
import { WaitingTable } from './waiting.ts'

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
  readonly heads = new LogHeads(this)
  readonly connection: LogConnection
  /** The streams with evidence of a fork: nothing is added to them any more. */
  readonly frozen = new Set<StreamNumber>()
  readonly waiting = new WaitingTable(this)
  /** Number of chunks that have ended since the log was opened. */
  chunksEnded = 0
  /** Whether a number has got another stream, or none, which has to be published to the readers. */
  slotsChanged = false
  readonly #streams: StreamTable
  /** Cache of own streams by number: computing their names is slower. */
  readonly #own = new Map<number, StreamState>()
  #lastRange = 0
  /** Damage that was found while opening, and that did not prevent it. */
  readonly damage: readonly StoreDamage[]
  readonly #countFile: CountFile

  constructor(options: LogOptions) {
    this.options = options
    refuseFutureFile(options.file)
    const interrupted = walBytes(options.file) > 0
    const damagedWal = checkWal(options.file, { keep: true })
    this.background = options.background ?? new BackgroundReporter()
    this.#countFile = new CountFile(options.file, 'events', { background: this.background, work: 'count_events' })
    this.#streams = new StreamTable(options)
    const derived = { reload: () => this.#load(), discard: () => this.changed.clear() }
    this.connection = withWalDamage(damagedWal, () => new LogConnection(options, derived))
    try {
      const cut = withWalDamage(damagedWal, () => this.#loadOrCutBack())
      this.#streams.reuseVacant()
      checkWriter(this.database, options.key.publicKey, options.file)
      this.damage = this.#reportDamage(damagedWal, cut)
      this.connection.marks = new StartMarkRows(this.database, options.file, this.damage.length > 0)
      if (interrupted) this.#finishScrubbing()
    } catch (error) {
      this.close()
      throw error
    }
  }

  get database(): DatabaseSync {
    return this.connection.database
  }

  get statements(): Statements {
    return this.connection.statements
  }

  /** For what comes from other nodes. */
  get receiveContext(): ReceiveContext {
    return { ...this.options, mayAdopt: this.connection.marks.isDoubtful }
  }

  get streams(): IterableIterator<StreamState> {
    return this.#streams.all
  }

  stream(key: StreamKey): StreamState | undefined {
    return this.#streams.find(key)
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
    return this.#streams.limitOf(key, from)
  }

  /** Adds a stream within the current transaction. Throws when it exceeds a limit. */
  addStream(key: StreamKey, from?: string): StreamState {
    const { state, isReused } = this.#streams.add(key, from)
    if (isReused) this.slotsChanged = true
    this.changed.add(state)
    this.saveStream(state)
    if (from !== undefined && !state.own) putIntroduction(this.database, state.number, from)
    return state
  }

  /**
   * Forgets a stream of another node, within the current transaction: its slot is vacant. To readers all of its events
   * are pruned.
   */
  vacate(state: StreamState): void {
    this.connection.begin()
    const { number, count } = state
    this.#streams.vacate(state, introductionsOf(this.database).get(number))
    removeStream(this.database, number)
    const row = vacantRow(number, count)
    this.statements.putStream.run(number, row.node, row.nr, row.pruned, row.checkpoint, row.record, row.head, row.crc)
    this.frozen.delete(number)
    this.changed.add(state)
    this.slotsChanged = true
  }

  /** Writes the row of a stream. */
  saveStream(state: StreamState, changed: Partial<Pick<StreamRow, 'record' | 'head'>> = {}): void {
    this.connection.begin()
    const { number, key, pruned, checkpoint } = state
    const kept = this.statements.getStream.get(number) as unknown as Pick<StreamRow, 'record' | 'head'> | undefined
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
    this.statements.putStream.run(number, row.node, row.nr, pruned, checkpoint, row.record, row.head, streamCrc(row))
  }

  /** See `LogConnection`. */
  reopenIfBroken(): void {
    this.connection.reopenIfBroken()
  }

  transaction<T>(work: () => T): T {
    return this.connection.transaction(work)
  }

  /** All writes have to go through the methods of this class. */
  lazyTransaction<T>(work: () => T): T {
    return this.connection.lazyTransaction(work)
  }

  erasingTransaction<T>(work: () => T): T {
    return this.connection.erasingTransaction(work)
  }

  /** Inserts a row. With `autocommit` it has to be the only write of a lazy transaction, and needs no BEGIN and COMMIT. */
  insertTail({ key, count, lamport, hash, raw, crc, body }: TailRow, autocommit = false): void {
    if (!autocommit) this.connection.begin()
    this.statements.insertTail.run(key, count, lamport, hash, raw, crc, body)
  }

  /** Writes the row of a checkpoint. */
  putCheckpoint(key: number, before: number, head: Uint8Array): void {
    this.connection.begin()
    this.statements.insertCheckpoint.run(key, before, head, checkpointCrc({ key, before, head }))
  }

  /** Ends the last chunk of a stream with a checkpoint. */
  insertCheckpoint(state: StreamState, signed: Uint8Array, changed?: Partial<Pick<StreamRow, 'head'>>): void {
    this.putCheckpoint(rowKey(state.number, state.count), state.checkpoint, signed)
    endChunk(state)
    state.unsealedChunksAtMost++
    this.chunksEnded++
    this.saveStream(state, changed)
  }

  /** The ID of a new index range. IDs are never reused: a reader could mistake the range for a deleted one. */
  newRangeId(): number {
    this.#lastRange = Math.max(freeRangeId(this.database), this.#lastRange + 1)
    return this.#lastRange
  }

  /** The wall clock. Throws when its time cannot be stored. */
  now(): number {
    return storableNow(this.options)
  }

  /** Writes the number of committed events to the count file, so that the next start detects lost ones. */
  recordEventCount(): void {
    if (!this.connection.isBroken) this.#countFile.record(this.#streams.events)
  }

  close(): void {
    this.#countFile.close()
    this.connection.close()
  }

  /** The damage to report at startup, only once: a damaged log is checkpointed, and the lower count is recorded. */
  #reportDamage(damagedWal: StoreDamage | undefined, cut: CutBack): readonly StoreDamage[] {
    const missing = this.#countFile.compare(this.#streams.events + cut.events)
    if (damagedWal !== undefined) this.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    if (missing !== undefined || cut.events > 0) this.recordEventCount()
    return [damagedWal, missing, ...cut.damage].filter((found) => found !== undefined)
  }

  /** Loads the streams. Damaged ones of other nodes are cut back first: they can be received again. */
  #loadOrCutBack(): CutBack {
    try {
      this.#load()
      return { damage: [], events: 0, lamport: -1 }
    } catch (error) {
      // No other node has imported events.
      if (!(error instanceof DamagedData) || this.options.kind === 'imported') throw error
    }
    // With another key, own streams would look like those of another node.
    checkWriter(this.database, this.options.key.publicKey, this.options.file)
    const cut = cutBack(this.database, this.options)
    this.#load()
    this.clock.follow(cut.lamport)
    return cut
  }

  /** Scrubs after a crash, which may have happened between a redaction and its scrub. */
  #finishScrubbing(): void {
    if (this.database.prepare('SELECT 1 FROM redaction LIMIT 1').get() === undefined) return
    try {
      this.connection.scrub()
    } catch (error) {
      // With a full disk the log is still readable. The next redaction and the next start retry.
      this.options.onScrubFailed?.(error)
    }
  }

  #load(): void {
    this.#own.clear()
    this.waiting.changed()
    asDamage(() => checkRedactions(this.database))
    this.#streams.load(this.database)
    this.frozen.clear()
    for (const number of asDamage(() => frozenStreams(this.database))) this.frozen.add(number)
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

/** Size of the write-ahead log: 0 after a clean close. */
function walBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
