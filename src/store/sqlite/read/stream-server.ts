import type { DatabaseSync } from 'node:sqlite'
import { format } from '../../../base/format.ts'
import type { PublicKey } from '../../../identity/index.ts'
import { genesis, type Hash, heads, type StreamKey } from '../../../protocol/index.ts'
import {
  type ChunkSeries,
  chunkFrom,
  chunksFrom,
  type HeadPlace,
  hashAt,
  headRow,
  nameOfStream,
  type OwnHead,
  placeOf,
  requireSameTopic,
  type StoredStream,
  type StreamHead,
} from '../../../replication/index.ts'
import type { ReadStream, StreamNumber } from '../../port/index.ts'
import { metaOf } from '../log-database.ts'
import { frozenStreams } from '../rows/evidence.ts'
import { redactedBetween } from '../rows/redacted-offsets.ts'
import { checkStreamRow, isVacant, type StreamRow } from '../rows/stream-row.ts'
import { inTransaction } from './read-transaction.ts'
import type { SharedCounts } from './shared-counts.ts'
import { storedStream } from './stored-stream.ts'

const streamColumns = 'number, node, nr, pruned, checkpoint, record, head, crc'

/** Reads streams for other nodes. Each call sees one snapshot of the database. */
export class StreamServer {
  readonly #database: DatabaseSync
  readonly #counts: SharedCounts
  readonly #streams: () => readonly ReadStream[]
  readonly #numbers = new Map<string, StreamNumber>()
  /** The list that the numbers are from, and how many of its streams they include. */
  #known: readonly ReadStream[] = []
  #included = 0
  #topic: ReturnType<typeof metaOf> | undefined

  /** @param streams all streams, by number; a list only grows, and there is another one when a number gets another stream */
  constructor(database: DatabaseSync, counts: SharedCounts, streams: () => readonly ReadStream[]) {
    this.#database = database
    this.#counts = counts
    this.#streams = streams
  }

  /** The stream with a key. */
  find(key: StreamKey): ReadStream | undefined {
    const streams = this.#streams()
    if (streams !== this.#known) {
      this.#known = streams
      this.#included = 0
      this.#numbers.clear()
    }
    for (const stream of streams.slice(this.#included))
      if (stream.isVacant !== true) this.#numbers.set(nameOfStream(stream.key), stream.number)
    this.#included = streams.length
    return streams[this.#numbers.get(nameOfStream(key)) ?? -1]
  }

  /** See `chunkFrom`. */
  chunk(stream: StreamNumber, from: number, newest: Uint8Array | undefined, maxBytes?: number): Uint8Array | undefined {
    return this.#reading(stream, (stored) => stored && chunkFrom(stored, newest, from, maxBytes))
  }

  /** See `chunksFrom`. */
  chunks(stream: StreamNumber, from: number, newest: Uint8Array | undefined, maxBytes: number): Uint8Array[] {
    return this.#reading(stream, (stored) => (stored === undefined ? [] : chunksFrom(stored, newest, from, maxBytes)))
  }

  /** See `ChunkSeries.readNext`. */
  readNext(stream: StreamNumber, chunks: ChunkSeries, newest: Uint8Array | undefined): boolean {
    return this.#reading(stream, (stored) => stored !== undefined && chunks.readNext(stored, newest))
  }

  /** See `hashAt`. */
  hashAt(stream: StreamNumber, count: number): Hash | 'pruned' | undefined {
    return this.#reading(stream, (stored) => stored && hashAt(stored, count))
  }

  /** Verifies a head, and compares it with the chain of its stream. */
  contains(signed: Uint8Array): HeadPlace {
    const head = heads.verify(signed)
    requireSameTopic(head.topic, this.#meta)
    return this.#reading(this.find(head.stream)?.number ?? -1, (stored) => placeOf(head, stored))
  }

  /** The head table, with the newest signed heads of own streams. */
  headTable(ownHeads: readonly OwnHead[]): StreamHead[] {
    return this.headsFrom(ownHeads, 0, Number.MAX_SAFE_INTEGER).heads
  }

  /** A part of the head table; `next` is the number of the stream to go on with. */
  headsFrom(
    ownHeads: readonly OwnHead[],
    from: StreamNumber,
    limit: number,
  ): { readonly heads: StreamHead[]; readonly next: StreamNumber | undefined } {
    const own = new Map(ownHeads.map(({ number, head }) => [number, head]))
    return inTransaction(this.#database, () => {
      const frozen = new Set(frozenStreams(this.#database))
      const rows = this.#database
        .prepare(`SELECT ${streamColumns} FROM stream WHERE number >= ? ORDER BY number LIMIT ?`)
        .all(from, limit) as unknown as StreamRow[]
      const heads = rows.map((row) => this.#headRow(row, frozen, own)).filter((row) => row !== undefined)
      return { heads, next: rows.length < limit ? undefined : (rows.at(-1)?.number ?? from) + 1 }
    })
  }

  #headRow(
    row: StreamRow,
    frozen: ReadonlySet<StreamNumber>,
    ownHeads: ReadonlyMap<StreamNumber, Uint8Array>,
  ): StreamHead | undefined {
    const { number, pruned } = row
    checkStreamRow(row, number)
    const stream = this.#streams()[number]
    // A stream that was just added or forgotten is not published yet.
    if (isVacant(row) || stream === undefined || stream.isVacant === true) return undefined
    const { key, own } = stream
    const head = own ? ownHeads.get(number) : (row.head ?? undefined)
    const redacted = redactedBetween(this.#database, number, pruned, format.eventsPerStream)
    return headRow({ number, key, own, pruned, frozen: frozen.has(number), topic: this.#meta.topic, redacted }, head)
  }

  get #meta(): ReturnType<typeof metaOf> {
    this.#topic ??= metaOf(this.#database)
    return this.#topic
  }

  #reading<T>(stream: StreamNumber, read: (stored: StoredStream | undefined) => T): T {
    return inTransaction(this.#database, () => read(this.#stored(stream)))
  }

  #stored(number: StreamNumber): StoredStream | undefined {
    const row = this.#database.prepare(`SELECT ${streamColumns} FROM stream WHERE number = ?`).get(number) as unknown as
      | StreamRow
      | undefined
    if (row === undefined) return undefined
    checkStreamRow(row, number)
    // The stream may have been forgotten since it was looked up.
    if (isVacant(row)) return undefined
    const { topic, kind } = this.#meta
    const key = { node: row.node as PublicKey, number: row.nr }
    // Counts are published after the commit.
    const count = Math.max(row.pruned, this.#counts.count(number))
    return storedStream(this.#database, number, { count, pruned: row.pruned, genesis: genesis(topic, key, kind) })
  }
}
