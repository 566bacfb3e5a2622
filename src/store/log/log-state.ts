import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { failure, messageOf, ShoalError } from '../../errors.ts'
import type { KeyPair } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import { type Head, heads, type StreamKey, type TopicKind } from '../../protocol/index.ts'
import { openForWriting } from './database.ts'
import { rowKey, type StreamNumber } from './row-key.ts'
import { loadStreams, newStream, type StreamState, streamCrc } from './stream-state.ts'
import { type IndexRow, postingKey, rangeCrc } from './tag-index.ts'
import type { TailRow } from './tail-row.ts'

export interface LogOptions {
  readonly file: string
  readonly topic: string
  readonly kind: TopicKind
  /** The key of this node; its streams can be appended to. */
  readonly key: KeyPair
  /** Microseconds since the Unix epoch. */
  readonly now: () => number
}

/** The log of a topic as its one writer sees it: the database, where each stream stands, and the clock. */
export class LogState {
  readonly options: LogOptions
  /** Streams of which the readers have to be told where they stand now. */
  readonly changed = new Set<StreamState>()
  /** The lamport timestamp of the next own event. */
  clock = 0
  #database: DatabaseSync
  #streams = new Map<string, StreamState>()
  #statements: Statements
  #lastRange = 0
  /** The connection failed and has to be made anew. */
  #broken = false

  constructor(options: LogOptions) {
    this.options = options
    const interrupted = logBytes(options.file) > 0
    this.#database = openForWriting(options.file, options.topic, options.kind)
    this.#statements = prepareStatements(this.#database)
    this.#load()
    // Whoever was killed may have been about to scrub what a redaction had removed.
    if (interrupted && this.#database.prepare('SELECT 1 FROM redaction LIMIT 1').get() !== undefined) this.scrub()
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

  ownStream(number: number): StreamState {
    return this.#known({ node: this.options.key.publicKey, number })
  }

  /** The stream, made within the running transaction when it is new. */
  #known(key: StreamKey): StreamState {
    return this.#streams.get(nameOf(key)) ?? this.addStream(key)
  }

  addStream(key: StreamKey): StreamState {
    const { topic, kind, key: own } = this.options
    const number = this.#streams.size
    if (number >= limits.streamsPerTopic)
      throw new ShoalError('ERR_IO', `A topic has at most ${limits.streamsPerTopic} streams.`)
    const isOwn = Buffer.compare(own.publicKey, key.node) === 0
    const state = newStream(topic, kind, number, key, isOwn)
    this.#streams.set(nameOf(key), state)
    this.changed.add(state)
    this.saveStream(state, null, null)
    return state
  }

  /** Writes what is kept of a stream besides its events. */
  saveStream({ number, key, pruned }: StreamState, record: Uint8Array | null, head: Uint8Array | null): void {
    const row = { number, node: key.node, nr: key.number, pruned, record, head }
    this.#statements.putStream.run(number, row.node, row.nr, pruned, record, head, streamCrc(row))
  }

  /** Keeps the newest head of a stream of another node: only that node can sign one. */
  saveHead({ number, key, pruned }: StreamState, head: Uint8Array): void {
    const record = (this.#statements.getStream.get(number)?.['record'] ?? null) as Uint8Array | null
    const row = { number, node: key.node, nr: key.number, pruned, record, head }
    this.#statements.putStream.run(number, row.node, row.nr, pruned, record, head, streamCrc(row))
  }

  /** Runs work in one transaction: all of it is on disk afterwards, or none of it. */
  transaction<T>(work: () => T): T {
    if (this.#broken) this.#reopen()
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      const result = work()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      this.#recover(error)
      throw asStorageError(error)
    }
  }

  insertTail({ key, count, lamport, hash, raw, crc, body }: TailRow): void {
    this.#statements.insertTail.run(key, count, lamport, hash, raw, crc, body)
  }

  /** Signs where an own stream stands. */
  signHead(state: StreamState, checkpoint: boolean): Buffer {
    const { topic, key, now } = this.options
    const head: Head = {
      topic,
      stream: state.key,
      count: state.count,
      lamport: state.lamport,
      hash: state.hash,
      checkpoint,
      time: now(),
    }
    return heads.sign(head, key)
  }

  /** The newest head of a stream: of an own one it is signed now, of another one it is what its node signed last. */
  head(number: StreamNumber): Uint8Array | undefined {
    const state = [...this.streams].find((stream) => stream.number === number)
    if (state === undefined || state.count === 0 || this.options.kind === 'imported') return undefined
    if (state.own) return this.signHead(state, state.count === state.checkpoint)
    return (this.#statements.getStream.get(number)?.['head'] ?? undefined) as Uint8Array | undefined
  }

  insertCheckpoint(state: StreamState, signed: Uint8Array): void {
    this.#statements.insertCheckpoint.run(rowKey(state.number, state.count), signed)
    state.checkpoint = state.count
    state.eventsSince = 0
    state.bytesSince = 0
  }

  insertRange(stream: number, first: number, count: number, bits: number, rows: readonly IndexRow[]): void {
    const highest = Number(this.#database.prepare('SELECT coalesce(max(id), 0) AS id FROM range').get()?.['id'])
    // Never one that a reader could still take for a range that is gone.
    const id = Math.max(highest, this.#lastRange) + 1
    this.#lastRange = id
    const range = { id, stream, first, count, bits }
    this.#database
      .prepare('INSERT INTO range (id, stream, first, count, bits, crc) VALUES (?, ?, ?, ?, ?, ?)')
      .run(id, stream, first, count, bits, rangeCrc(range))
    const insert = this.#database.prepare('INSERT INTO posting (key, crc, body) VALUES (?, ?, ?)')
    for (const { bucket, crc, body } of rows) insert.run(postingKey(id, bucket), crc, body)
  }

  deleteRange(id: number): void {
    this.#database
      .prepare('DELETE FROM posting WHERE key >= ? AND key < ?')
      .run(postingKey(id, 0), postingKey(id + 1, 0))
    this.#database.prepare('DELETE FROM range WHERE id = ?').run(id)
  }

  /** Leaves nothing behind of what was deleted: free pages are given back, and the write-ahead log is emptied. */
  scrub(): void {
    this.#database.exec('PRAGMA incremental_vacuum')
    // It waits for those who read just now; until they are done, the file keeps what they see.
    const { busy } = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    if (busy !== 0)
      throw failure('ERR_STORAGE', { cause: 'what was removed is still being read, and not yet scrubbed' })
  }

  close(): void {
    this.#database.close()
  }

  /** After a failure what is in memory may be ahead of the disk: begin again from what is there. */
  #recover(error: unknown): void {
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
      // The connection is of no use any more.
    }
    this.#broken = true
    try {
      this.#reopen()
    } catch {
      // The next transaction tries again.
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
      throw asStorageError(error)
    }
  }

  #load(): void {
    const { topic, kind, key } = this.options
    const before = this.#streams
    this.#streams = new Map(
      loadStreams(this.#database, topic, kind, key.publicKey).map((state) => [nameOf(state.key), state]),
    )
    // Never a revision that was there before: what was begun then must not be put in the place of what is here now.
    for (const [name, state] of this.#streams) state.revision = (before.get(name)?.revision ?? 0) + 1
    this.changed.clear()
    for (const state of this.streams) this.changed.add(state)
    this.clock = Math.max(this.clock, ...[...this.streams].map(({ lamport }) => lamport + 1))
  }
}

/** SQLITE_FULL: there is no room on the disk. */
const sqliteFull = 13

function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined
}

/** What the disk refused, in words for whoever asked. */
function asStorageError(error: unknown): unknown {
  const code = sqliteCode(error)
  if (code === undefined) return error
  const cause = code === sqliteFull ? 'there is no room left on the disk' : messageOf(error)
  return failure('ERR_STORAGE', { cause }, { cause: error })
}

/** Bytes of the write-ahead log: whoever closes the store leaves none. */
function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function nameOf({ node, number }: StreamKey): string {
  return `${Buffer.from(node).toString('latin1')}${number}`
}

type Statements = Record<'putStream' | 'getStream' | 'insertTail' | 'insertCheckpoint', StatementSync>

function prepareStatements(database: DatabaseSync): Statements {
  return {
    putStream: database.prepare(
      'INSERT OR REPLACE INTO stream (number, node, nr, pruned, record, head, crc) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    getStream: database.prepare('SELECT record, head FROM stream WHERE number = ?'),
    insertTail: database.prepare(
      'INSERT INTO tail (key, count, lamport, hash, raw, crc, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    insertCheckpoint: database.prepare('INSERT OR REPLACE INTO checkpoint (key, head) VALUES (?, ?)'),
  }
}
