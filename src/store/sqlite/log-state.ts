import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { failure, messageOf, ShoalError } from '../../base/errors.ts'
import type { StreamKey } from '../../protocol/index.ts'
import {
  endChunk,
  isOwnStream,
  LamportClock,
  newestHead,
  ownStreamKey,
  requireRoomForStream,
  startOfStream,
  storableNow,
  type TopicContext,
} from '../../replication/index.ts'
import type { Random } from '../../runtime/random.ts'
import { BackgroundReporter } from '../disk/background.ts'
import { CountFile } from '../disk/count-file.ts'
import { sqliteCode, sqliteFull, storageError } from '../disk/disk-refusal.ts'
import type { DiskSync } from '../disk/sync.ts'
import { checkWal, removeDamagedCopy, type StoreDamage } from '../disk/wal-check.ts'
import type { StreamNumber } from '../port/index.ts'
import { freeRangeId } from './index/index-ranges.ts'
import { openForWriting, refuseFutureFile, rewriteVersion, upgrade } from './log-database.ts'
import { checkpointCrc } from './rows/checkpoints.ts'
import { reading } from './rows/checksum.ts'
import { rowKey } from './rows/row-key.ts'
import { type StreamRow, streamCrc } from './rows/stream-row.ts'
import { loadStreams, newStream, type StreamState } from './rows/stream-state.ts'
import type { TailRow } from './rows/tail-row.ts'
import { prepareStatements, type Statements } from './statements.ts'
import { GivenUp } from './write/aborted.ts'
import { checkWriter } from './write/log-owner.ts'
import { checkRedactions } from './write/redactions.ts'

export interface LogOptions extends TopicContext {
  readonly file: string
  /** Where the salts of payloads come from. */
  readonly random: Random
  /** Told when what was redacted could not be scrubbed while the log was opened. */
  readonly notScrubbed?: (error: unknown) => void
  /** Where failures of work that no caller waits for are reported. */
  readonly background?: BackgroundReporter
  /** How files are made durable, where it is not the usual way. */
  readonly sync?: DiskSync
}

/** The log of a topic as its one writer sees it: the database, where each stream stands, and the clock. */
export class LogState {
  readonly options: LogOptions
  readonly background: BackgroundReporter
  /** Streams of which the readers have to be told where they stand now. */
  readonly changed = new Set<StreamState>()
  readonly clock = new LamportClock()
  /** How many chunks have ended since this was opened. */
  chunksEnded = 0
  #database: DatabaseSync
  #streams = new Map<string, StreamState>()
  /** Own streams that were asked for, by their numbers: their names take longer to be made. */
  readonly #own = new Map<number, StreamState>()
  #statements: Statements
  #lastRange = 0
  /** Streams as they stood before the transaction that is under way; nothing for those that it has made. */
  readonly #before = new Map<StreamState, StreamState | undefined>()
  /** The connection failed and has to be made anew. */
  #broken = false
  /** A transaction begins with what is written first. */
  #beginsLate = false
  /** Whether the log is of the format that is written: one that is only read stays as it was. */
  #isUpgraded = false
  /** Damage that was found while the log was opened, which could be opened all the same. */
  readonly damage: readonly StoreDamage[]
  readonly #noted: CountFile

  constructor(options: LogOptions) {
    this.options = options
    refuseFutureFile(options.file)
    const interrupted = logBytes(options.file) > 0
    const damagedWal = checkWal(options.file, { keep: true })
    this.background = options.background ?? new BackgroundReporter()
    this.#noted = new CountFile(options.file, 'events', { background: this.background, work: 'count_events' })
    this.#database = afterWalCheck(damagedWal, () =>
      openForWriting(options.file, options.topic, options.kind, options.sync),
    )
    try {
      this.#statements = prepareStatements(this.#database)
      afterWalCheck(damagedWal, () => this.#load())
      checkWriter(this.#database, options.key.publicKey, options.file)
      this.damage = this.#reported(damagedWal)
      if (interrupted) this.#scrubWhatWasRedacted()
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
    return this.#streams.get(nameOf(key))
  }

  /** An own stream, made within the running transaction when it is new. */
  ownStream(number: number): StreamState {
    const known = this.#own.get(number)
    if (known !== undefined) return known
    const key = ownStreamKey(number, this.options)
    const state = this.stream(key) ?? this.addStream(key)
    this.#own.set(number, state)
    return state
  }

  addStream(key: StreamKey): StreamState {
    const { topic, kind } = this.options
    const number = this.#streams.size
    requireRoomForStream(number)
    const state = newStream(number, startOfStream(topic, kind, key, isOwnStream(key, this.options)))
    this.#streams.set(nameOf(key), state)
    this.#before.set(state, undefined)
    this.changed.add(state)
    this.saveStream(state)
    return state
  }

  /** Remembers where a stream stands: if the transaction is given up, it stands there again. */
  remember(state: StreamState): void {
    if (!this.#before.has(state)) this.#before.set(state, { ...state })
  }

  /** Writes what is kept of a stream besides its events. */
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

  /** Keeps the newest head of a stream of another node: only that node can sign one. */
  saveHead(state: StreamState, head: Uint8Array): void {
    this.saveStream(state, { head })
  }

  /** Runs work in one transaction: all of it is on disk afterwards, or none of it. */
  transaction<T>(work: () => T): T {
    return this.#recovering(() => this.#inTransaction(work))
  }

  /**
   * Like `transaction`, but BEGIN is deferred: a commit of a single tail row uses autocommit. All writes go through the
   * methods of this class.
   */
  appending<T>(work: () => T): T {
    return this.#recovering(() => {
      this.#beginsLate = true
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
    if (this.#beginsLate) this.#statements.begin.run()
    this.#beginsLate = false
  }

  #recovering<T>(work: () => T): T {
    if (this.#broken) this.#reopen()
    try {
      if (!this.#isUpgraded) upgrade(this.#database)
      this.#isUpgraded = true
      return work()
    } catch (error) {
      this.#recover(error)
      throw asStorageError(error, this.options.file)
    } finally {
      this.#beginsLate = false
      this.#before.clear()
    }
  }

  /**
   * The same, and pages that become free in it are overwritten: one that is used again in the transaction in which it
   * became free keeps what stood there, as far as nothing is written over it.
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

  /** Inserts a row. One that stands alone is a transaction by itself, unless one has begun: nothing is written after it. */
  insertTail({ key, count, lamport, hash, raw, crc, body }: TailRow, isAlone = false): void {
    if (!isAlone) this.#begin()
    this.#statements.insertTail.run(key, count, lamport, hash, raw, crc, body)
  }

  /** The newest signed head of a stream. */
  head(number: StreamNumber): Uint8Array | undefined {
    const state = [...this.streams].find((stream) => stream.number === number)
    return state && newestHead(state, this.options, () => this.#receivedHead(number))
  }

  #receivedHead(number: StreamNumber): Uint8Array | undefined {
    return (this.#statements.getStream.get(number)?.['head'] ?? undefined) as Uint8Array | undefined
  }

  insertCheckpoint(state: StreamState, signed: Uint8Array): void {
    this.#begin()
    const row = { key: rowKey(state.number, state.count), before: state.checkpoint, head: signed }
    this.#statements.insertCheckpoint.run(row.key, row.before, signed, checkpointCrc(row))
    endChunk(state)
    state.mostWaiting++
    this.chunksEnded++
    this.saveStream(state)
  }

  /** A number for a new range of the index, and never one that a reader could still take for a range that is gone. */
  newRangeId(): number {
    this.#lastRange = Math.max(freeRangeId(this.#database), this.#lastRange + 1)
    return this.#lastRange
  }

  /** The time by the wall clock; throws when it is one that cannot be stored. */
  now(): number {
    return storableNow(this.options)
  }

  /** Writes something that changes nothing, to see whether that is possible. */
  probe(): void {
    this.transaction(() => rewriteVersion(this.#database))
  }

  /** Folds the write-ahead log back into the database. */
  checkpointLog(mode: 'PASSIVE' | 'TRUNCATE'): void {
    try {
      this.#database.exec(`PRAGMA wal_checkpoint(${mode})`)
    } catch (error) {
      throw asStorageError(error, this.options.file)
    }
  }

  /** Leaves nothing behind of what was deleted: free pages are given back, and the write-ahead log is emptied. */
  scrub(): void {
    try {
      removeDamagedCopy(this.options.file)
      this.#database.exec('PRAGMA incremental_vacuum')
      // It waits for those who read just now; until they are done, the file keeps what they see.
      const { busy } = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
      if (busy !== 0)
        throw failure('ERR_STORAGE', { cause: 'what was removed is still being read, and not yet scrubbed' })
    } catch (error) {
      throw asStorageError(error, this.options.file)
    }
  }

  /** Notes how many events there are, after they were committed: the next start misses them if they are lost. */
  noteCount(): void {
    if (!this.#broken) this.#noted.note(this.#events)
  }

  close(): void {
    this.#noted.close()
    // After a failure that nobody could recover from it is closed already.
    if (this.#database.isOpen) this.#database.close()
  }

  /** How many events there ever were in all streams; pruning changes nothing of it. */
  get #events(): number {
    let events = 0
    for (const { count } of this.streams) events += count
    return events
  }

  /** What there is to report of a start. Once it is, the damage is left behind: the next start would find it again. */
  #reported(damagedWal: StoreDamage | undefined): readonly StoreDamage[] {
    const missing = this.#noted.compare(this.#events)
    if (damagedWal !== undefined) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    if (missing !== undefined) this.noteCount()
    return [damagedWal, missing].filter((found) => found !== undefined)
  }

  /** Whoever was killed may have been about to scrub what a redaction had removed. */
  #scrubWhatWasRedacted(): void {
    if (this.#database.prepare('SELECT 1 FROM redaction LIMIT 1').get() === undefined) return
    try {
      this.scrub()
    } catch (error) {
      // On a full disk everything can be read nevertheless; the next redaction scrubs, and the next start.
      this.options.notScrubbed?.(error)
    }
  }

  /** After a failure what is in memory may be ahead of the disk: begin again from what is there. */
  #recover(error: unknown): void {
    if (error instanceof GivenUp && this.#takeBack()) return
    // Nobody is told of what is not on disk, also when it cannot be read again for now.
    this.changed.clear()
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      // A full disk, or a request that makes no sense, says nothing against the connection; anything else might.
      if (sqliteCode(error) === undefined || sqliteCode(error) === sqliteFull) {
        this.#load()
        return
      }
    } catch {
      // The connection is of no use any more: it is made anew below. The caller gets the error that led here.
    }
    this.#broken = true
    try {
      this.#reopen()
    } catch {
      // The caller gets the error that led here; the next transaction tries again, and its caller gets this one.
    }
  }

  /**
   * Rolls a transaction back that was given up, and lets all streams stand where they stood before it: to read them again would
   * take longer, and have what is being sealed thrown away. The clock does not go back. Answers whether that was possible.
   */
  #takeBack(): boolean {
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    } catch {
      // Reported by what follows: the connection is made anew, or the next transaction fails.
      return false
    }
    for (const [state, before] of this.#before) {
      if (before !== undefined) Object.assign(state, before)
      else {
        this.#streams.delete(nameOf(state.key))
        this.#own.delete(state.key.number)
        this.changed.delete(state)
      }
    }
    return true
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
    reading(() => checkRedactions(this.#database))
    this.#streams = new Map(
      reading(() => loadStreams(this.#database, topic, kind, key.publicKey)).map((state) => [nameOf(state.key), state]),
    )
    // Never a revision that was there before: what was begun then must not be put in the place of what is here now.
    for (const [name, state] of this.#streams) state.revision = (before.get(name)?.revision ?? 0) + 1
    this.changed.clear()
    for (const state of this.streams) this.changed.add(state)
    for (const { lamport } of this.streams) this.clock.follow(lamport)
  }
}

/** With the frames that SQLite drops from a damaged log, the database may be of no use: both have to be told. */
function afterWalCheck<T>(damaged: StoreDamage | undefined, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (damaged === undefined) throw error
    throw new ShoalError('ERR_INVALID_NODE_STATE', `${messageOf(error)}. ${damaged.text}`, { cause: error })
  }
}

/** What the disk refused, in words for whoever asked. */
function asStorageError(error: unknown, file: string): unknown {
  return sqliteCode(error) === undefined ? error : storageError(error, file)
}

/** Bytes of the write-ahead log: whoever closes the store leaves none. */
function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function nameOf({ node, number }: StreamKey): string {
  return `${Buffer.from(node).toString('latin1')}${number}`
}
