import type { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../../base/errors.ts'
import type { PublicKey } from '../../../identity/index.ts'
import {
  type Frame,
  genesis,
  type Hash,
  type Head,
  heads,
  type StoredPrune,
  type StreamKey,
  verifyStoredPrune,
} from '../../../protocol/index.ts'
import { ChainWalk, readChunk } from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { metaOf, openForReading } from '../log-database.ts'
import { checkpointsOf } from '../rows/checkpoints.ts'
import { checkOrigins } from '../rows/origins.ts'
import { framesOfSegment } from '../rows/records.ts'
import { rowKey } from '../rows/row-key.ts'
import { Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import type { WholeSegmentRow } from '../rows/segment-row.ts'
import { isVacant, type StreamRow, streamCrc } from '../rows/stream-row.ts'
import { type ChainPoint, chainPointOf, framesOf, type TailRow } from '../rows/tail-row.ts'
import { pairsIn } from '../tag-index/index-ranges.ts'
import { addFrame } from '../tag-index/reindex.ts'
import { IndexBuilder, type IndexRange, rangeCrc } from '../tag-index/tag-index.ts'
import { RangeTimes } from '../time-index/range-times.ts'
import { verifyRedactions } from './verify-redactions.ts'

/** The result of verifying a log. */
export interface VerifyReport {
  readonly topic: string
  readonly streams: number
  readonly events: number
  readonly segments: number
  readonly removedPayloads: number
  /** Damage; empty if there is none. */
  readonly problems: readonly string[]
  /** Irregularities that are not damage. */
  readonly notes: readonly string[]
}

/** Verifies every byte of a snapshot of a log: checksums, offsets, hash chains, signatures, the index. */
export function verifyLog(file: string, progress: (events: number) => void = () => {}): VerifyReport {
  const database = openForReading(file)
  try {
    database.exec('BEGIN')
    return new Verifier(database, progress).run()
  } finally {
    database.close()
  }
}

class Verifier {
  readonly #database: DatabaseSync
  readonly #progress: (events: number) => void
  readonly #problems: string[] = []
  readonly #notes: string[] = []
  #events = 0
  #segments = 0
  #removed = 0

  constructor(database: DatabaseSync, progress: (events: number) => void) {
    this.#database = database
    this.#progress = progress
  }

  run(): VerifyReport {
    this.#try('the database', () => {
      for (const row of this.#database.prepare('PRAGMA integrity_check(20)').all())
        if (row['integrity_check'] !== 'ok') this.#problems.push(`the database: ${String(row['integrity_check'])}`)
    })
    const { topic, kind } = this.#try('the table meta', () => metaOf(this.#database)) ?? { topic: '', kind: 'live' }
    const streams =
      this.#try(
        'the table stream',
        () =>
          this.#database
            .prepare('SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream ORDER BY number')
            .all() as unknown as StreamRow[],
      ) ?? []
    for (const row of streams) this.#try(`stream ${row.number}`, () => this.#stream(row, topic, kind))
    this.#try('waiting chunks', () => {
      for (const row of this.#database.prepare('SELECT chunk FROM waiting').all()) readChunk(row['chunk'] as Uint8Array)
    })
    this.#try('origins of imported events', () => checkOrigins(this.#database))
    return {
      topic,
      streams: streams.filter((row) => !isVacant(row)).length,
      events: this.#events,
      segments: this.#segments,
      removedPayloads: this.#removed,
      problems: this.#problems,
      notes: this.#notes,
    }
  }

  #try<T>(where: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#problems.push(`${where}: ${messageOf(error)}`)
      return undefined
    }
  }

  #stream(row: StreamRow, topic: string, kind: 'live' | 'imported'): void {
    const { number, pruned } = row
    if (streamCrc(row) !== row.crc) throw new Error('its entry is damaged')
    if (isVacant(row)) {
      this.#checkVacant(number)
      return
    }
    const key: StreamKey = { node: Uint8Array.from(row.node) as PublicKey, number: row.nr }
    const signed = new Map(checkpointsOf(this.#database, number, pruned).map(({ count, head }) => [count, head]))
    const start = pruned === 0 ? { lamport: -1, hash: genesis(topic, key, kind) } : headAt(signed, pruned)
    if (row.record !== null) checkPrune(verifyStoredPrune(row.record), pruned, start.hash)
    const chain = new ChainWalk(pruned, start)
    const redacted = verifyRedactions(this.#database, number)
    const clock = new ClockCheck()
    const index = new IndexCheck(this.#database, number, pruned, this.#ranges(number))
    for (const { frames, sealed, point } of this.#parts(number, pruned)) {
      if (point?.is === 'before') this.#checkPoint(number, chain, point)
      for (const frame of frames) {
        chain.add(frame)
        clock.add(frame)
        if (sealed) index.add(frame)
        this.#payloads(number, frame, redacted)
        this.#checkHead(number, chain, signed.get(chain.count))
        signed.delete(chain.count)
      }
      if (point?.is === 'after') this.#checkPoint(number, chain, point)
      this.#progress(this.#events)
    }
    signed.delete(pruned)
    for (const count of signed.keys())
      this.#problems.push(`stream ${number}: there is a checkpoint at ${count} where no frame ends`)
    if (row.head !== null) this.#checkHead(number, chain, row.head)
    this.#problems.push(...index.finish())
    this.#notes.push(...clock.notes(number))
  }

  #checkVacant(number: StreamNumber): void {
    for (const table of ['tail', 'segment', 'checkpoint', 'redaction']) {
      const bounds = [rowKey(number, 0), rowKey(number + 1, 0)] as const
      if (this.#database.prepare(`SELECT 1 FROM ${table} WHERE key >= ? AND key < ?`).get(...bounds) !== undefined)
        throw new Error(`it is vacant, but there are rows in the table ${table}`)
    }
  }

  #checkPoint(number: StreamNumber, chain: ChainWalk, { hash }: ChainPoint): void {
    if (hash !== chain.hash)
      this.#problems.push(`stream ${number}: the tail has another hash than its frames at ${chain.count}`)
  }

  #payloads(number: StreamNumber, { first, count, payloads }: Frame, redacted: ReadonlySet<number>): void {
    this.#events += count
    for (let i = 0; i < count; i++) {
      if ((payloads[2 * i] as number) < 0) this.#removed++
      else if (redacted.has(first + i))
        this.#problems.push(`stream ${number}: the payload ${first + i} was to be removed`)
    }
  }

  #checkHead(number: StreamNumber, chain: ChainWalk, signed: Uint8Array | undefined): void {
    if (signed === undefined) return
    const { count, lamport, hash } = heads.verifyStored(signed)
    if (count !== chain.count || lamport !== chain.lamport || hash !== chain.hash)
      this.#problems.push(`stream ${number}: the chain does not lead to the head that was signed for ${count} events`)
  }

  #ranges(number: StreamNumber): IndexRange[] {
    const rows = this.#database
      .prepare('SELECT id, stream, first, count, bits, crc FROM range WHERE stream = ? ORDER BY first')
      .all(number) as unknown as (IndexRange & { crc: number })[]
    for (const row of rows)
      if (rangeCrc(row) !== row.crc) throw new Error(`the entry ${row.id} of the index is damaged`)
    return rows
  }

  /** The frames of a stream, by segment and then by row of the tail. */
  *#parts(number: StreamNumber, pruned: number): Generator<{ frames: Frame[]; sealed: boolean; point?: ChainPoint }> {
    const [from, to] = [rowKey(number, pruned), rowKey(number + 1, 0)]
    const segments = this.#database.prepare(
      `SELECT ${segmentColumns} FROM segment WHERE key >= ? AND key < ? ORDER BY key`,
    )
    let end = from
    for (const row of segments.iterate(from, to)) {
      const segment = new Segment(row as unknown as WholeSegmentRow)
      this.#segments++
      end = rowKey(number, segment.first + segment.count)
      yield { frames: framesOfSegment(segment), sealed: true }
    }
    const tail = this.#database.prepare(
      'SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key >= ? AND key < ? ORDER BY key',
    )
    for (const row of tail.iterate(end, to)) {
      const place = row as unknown as TailRow
      yield { frames: framesOf(place), sealed: false, point: chainPointOf(place) }
    }
  }
}

/** A record of an earlier version has no hash. */
function checkPrune({ count, hash }: StoredPrune, pruned: number, at: Hash): void {
  if (count !== pruned || (hash !== undefined && hash !== at)) throw new Error('its prune record is another one')
}

function headAt(signed: ReadonlyMap<number, Uint8Array>, count: number): Head {
  const head = signed.get(count)
  if (head === undefined) throw new Error(`the checkpoint at ${count}, where it was pruned, is missing`)
  return heads.verifyStored(head)
}

/** Compares the index of a stream with one that is rebuilt from its events. */
class IndexCheck {
  readonly #database: DatabaseSync
  readonly #number: StreamNumber
  readonly #pruned: number
  readonly #ranges: readonly IndexRange[]
  readonly #problems: string[] = []
  #at = 0
  #builder: IndexBuilder | undefined
  readonly #storedTimes: RangeTimes
  #times: number[] = []

  constructor(database: DatabaseSync, number: StreamNumber, pruned: number, ranges: readonly IndexRange[]) {
    this.#database = database
    this.#number = number
    this.#pruned = pruned
    this.#ranges = ranges
    this.#storedTimes = new RangeTimes(database)
  }

  add(frame: Frame): void {
    const range = this.#ranges[this.#at]
    if (range === undefined || frame.first < range.first) return
    this.#builder ??= new IndexBuilder(range.first)
    addFrame(this.#builder, frame)
    for (const time of frame.times) this.#times.push(time)
    if (frame.first + frame.count >= range.first + range.count) this.#compare(range)
  }

  finish(): readonly string[] {
    if (this.#at < this.#ranges.length)
      this.#problems.push(`stream ${this.#number}: the index goes beyond the events that are sealed`)
    return this.#problems
  }

  #compare(range: IndexRange): void {
    const expected = this.#builder?.pairs() ?? new Float64Array()
    this.#builder = undefined
    this.#at++
    const found = this.#stored(range)
    const same =
      found !== undefined && found.length === expected.length && found.every((pair, i) => pair === expected[i])
    if (!same || !this.#hasTimes(range))
      this.#problems.push(`stream ${this.#number}: the index from ${range.first} on is damaged`)
    this.#times = []
  }

  /** Times that are missing are added when the writer is idle. */
  #hasTimes(range: IndexRange): boolean {
    const pruned = Math.max(0, this.#pruned - range.first)
    try {
      const times = this.#storedTimes.of(range)
      return times?.isOf([...new Array<number>(pruned).fill(0), ...this.#times], pruned) ?? true
    } catch {
      // The caller reports it as damaged.
      return false
    }
  }

  #stored(range: IndexRange): Float64Array | undefined {
    try {
      return pairsIn(this.#database, range, this.#pruned)
    } catch {
      // The caller reports it as damaged.
      return undefined
    }
  }
}

/** Times below this take one byte: earlier versions encoded times before 1970 like that. */
const oneByte = 0x80

/** Counts events of a stream that were written while the clock was wrong. */
class ClockCheck {
  #count = 0

  add({ count, times, hasLegacyTimes }: Frame): void {
    this.#count += hasLegacyTimes ? count : times.filter((time) => time < oneByte).length
  }

  notes(stream: StreamNumber): string[] {
    if (this.#count === 0) return []
    const what = `stream ${stream}: ${this.#count} events were written while the clock was before 1970 or after 2255`
    return [`${what}. They are read with the nearest time that can be stored.`]
  }
}
