import {
  effectOfRedaction,
  ownStreamKey,
  type ReceiveOptions,
  type RecordOrigin,
  type RedactionResult,
  type SignedRedaction,
  signRedaction,
  verifyRedactions,
  withoutPayloads,
} from '../../../replication/index.ts'
import { rewriteTail } from '../log-database.ts'
import { DamagedData } from '../rows/checksum.ts'
import { framesOfSegment } from '../rows/records.ts'
import { rowKey } from '../rows/row-key.ts'
import { encodeSegment, Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import { segmentInserter, type WholeSegmentRow } from '../rows/segment-row.ts'
import { streamIdOf } from '../rows/stream-id.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { chainPointOf, framesOf, recordsOfFrames, type TailRow, tailRow } from '../rows/tail-row.ts'
import type { LogState } from './log-state.ts'
import { keepRedaction, redactable } from './redactions.ts'

/** What the redaction records of one call remove. */
class Removals {
  readonly offsets = new Map<StreamState, number[]>()
  /** Whether waiting chunks were deleted that may contain payloads. */
  waiting = false

  add(state: StreamState, offsets: readonly number[]): void {
    if (offsets.length === 0) return
    const known = this.offsets.get(state) ?? []
    this.offsets.set(state, known)
    for (const offset of offsets) known.push(offset)
  }
}

/** Removes payloads and their salts, by signed records of the node of the stream. */
export class Redactor {
  readonly #log: LogState

  constructor(log: LogState) {
    this.#log = log
  }

  /** Signs a redaction record for an own stream, and applies it. */
  redactOwn(number: number, offsets: readonly number[]): Uint8Array {
    this.#log.reopenIfBroken()
    const { options } = this.#log
    const signed = signRedaction(number, offsets, this.#log.stream(ownStreamKey(number, options)), options)
    this.#apply(verifyRedactions([signed], options), 'local')
    return signed
  }

  /** Applies redaction records of other nodes, in one transaction. */
  redact(signed: readonly Uint8Array[], options?: ReceiveOptions): RedactionResult[] {
    return this.#apply(verifyRedactions(signed, this.#log.options), 'received', options)
  }

  /** Removes payloads and salts from the rows, from free pages and from the write-ahead log: once for all records. */
  #apply(records: readonly SignedRedaction[], origin: RecordOrigin, options?: ReceiveOptions): RedactionResult[] {
    const removals = new Removals()
    const results = this.#log.erasingTransaction(() => {
      const kept = records.map((record) => this.#keep(record, origin, removals, options))
      this.#erase(removals)
      return kept
    })
    if (removals.offsets.size > 0 || removals.waiting || this.#log.connection.isScrubPending)
      this.#log.connection.scrub()
    return results
  }

  /** Stores a record. Its payloads are removed later, together with those of the other records. */
  #keep(
    { signed, record }: SignedRedaction,
    origin: RecordOrigin,
    removals: Removals,
    { from }: ReceiveOptions = {},
  ): RedactionResult {
    const { database, receiveContext } = this.#log
    const known = this.#log.stream(record.stream)
    const limit = known === undefined ? this.#log.limitOf(record.stream, from) : undefined
    const effect = effectOfRedaction(record, known && redactable(database, known), receiveContext, origin, limit)
    if (effect.is === 'none') return { state: 'known' }
    if (effect.is === 'hold') return { state: 'held' }
    if (effect.is === 'full' || effect.is === 'refused') return { state: effect.is }
    const { remove, expect } = effect
    const state = known ?? this.#log.addStream(record.stream, from)
    keepRedaction(database, state.number, [...remove, ...expect], signed)
    removals.add(state, remove)
    if (this.#dropWaiting(state, expect.at(-1))) removals.waiting = true
    return { state: remove.length > 0 ? 'applied' : 'waiting' }
  }

  /** Deletes the waiting chunks that start at or before an offset. Returns whether there were any. */
  #dropWaiting({ number }: StreamState, upTo: number | undefined): boolean {
    if (upTo === undefined) return false
    const drop = this.#log.database.prepare('DELETE FROM waiting WHERE key >= ? AND key <= ?')
    return Number(drop.run(rowKey(number, 0), rowKey(number, upTo)).changes) > 0
  }

  #erase({ offsets }: Removals): void {
    const { database } = this.#log
    for (const [state, redacted] of offsets) {
      redacted.sort((a, b) => a - b)
      const sealed = redacted.filter((offset) => offset < state.sealed)
      this.#redactSegments(state, sealed)
      this.#redactTail(state, redacted.slice(sealed.length))
      state.revision++
    }
    if (offsets.size > 0) rewriteTail(database)
  }

  #redactSegments(state: StreamState, offsets: readonly number[]): void {
    const { database } = this.#log
    const find = database.prepare(`SELECT ${segmentColumns} FROM segment WHERE key <= ? ORDER BY key DESC LIMIT 1`)
    const rows = (key: number): WholeSegmentRow | undefined => find.get(key) as unknown as WholeSegmentRow | undefined
    for (const { row, redacted } of rowsOf(state, offsets, rows)) {
      const frames = withoutPayloads(framesOfSegment(new Segment(row)), redacted)
      database.prepare('DELETE FROM segment WHERE key = ?').run(row.key)
      segmentInserter(database)(row, encodeSegment(frames, streamIdOf(state.key), row.size))
    }
  }

  #redactTail(state: StreamState, offsets: readonly number[]): void {
    const { database } = this.#log
    const find = database.prepare(
      'SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key <= ? ORDER BY key DESC LIMIT 1',
    )
    const rows = (key: number): TailRow | undefined => find.get(key) as unknown as TailRow | undefined
    for (const { row, redacted } of rowsOf(state, offsets, rows)) {
      const records = recordsOfFrames(withoutPayloads(framesOf(row), redacted))
      database.prepare('DELETE FROM tail WHERE key = ?').run(row.key)
      // A redaction does not change the chain.
      this.#log.insertTail(tailRow(row.key, row.count, row.lamport, chainPointOf(row), records))
    }
  }
}

/** The rows that contain events, each once, with its offsets among the given ones, which ascend. */
function* rowsOf<Row extends { readonly key: number; readonly count: number }>(
  { number }: StreamState,
  offsets: readonly number[],
  find: (key: number) => Row | undefined,
): Generator<{ row: Row; redacted: readonly number[] }> {
  for (let done = 0; done < offsets.length; ) {
    const offset = offsets[done] as number
    const row = find(rowKey(number, offset))
    const end = row === undefined ? 0 : row.key + row.count - rowKey(number, 0)
    if (row === undefined || end <= offset) throw new DamagedData(`the event ${offset} of stream ${number} is missing`)
    const start = done
    while (done < offsets.length && (offsets[done] as number) < end) done++
    yield { row, redacted: offsets.slice(start, done) }
  }
}
