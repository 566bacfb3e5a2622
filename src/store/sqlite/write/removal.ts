import type { PruneRecord } from '../../../protocol/index.ts'
import {
  earlyCheckpoint,
  effectOfPrune,
  effectOfRedaction,
  ownStreamKey,
  type PruneStart,
  signPrune,
  signRedaction,
  startAtCheckpoint,
  verifyPrune,
  verifyRedaction,
  withoutPayloads,
} from '../../../replication/index.ts'
import { rewriteTail } from '../log-database.ts'
import { checkpointAt } from '../rows/checkpoints.ts'
import { DamagedData } from '../rows/checksum.ts'
import { framesOfSegment } from '../rows/records.ts'
import { rowKey } from '../rows/row-key.ts'
import { encodeSegment, Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import { segmentInserter, type WholeSegmentRow } from '../rows/segment-row.ts'
import { streamIdOf } from '../rows/stream-id.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { chainPointOf, framesOf, recordsOfFrames, type TailRow, tailRow } from '../rows/tail-row.ts'
import { deleteRange, soundRanges } from '../tag-index/index-ranges.ts'
import { chainAt, insertEarlyCheckpoint } from './early-checkpoint.ts'
import type { LogState } from './log-state.ts'
import type { Receiver } from './receive.ts'
import { keepRedaction } from './redactions.ts'

/** Prunes events from the start of a stream, and redacts payloads, by signed records of the node of the stream. */
export class Remover {
  readonly #log: LogState
  readonly #receiver: Receiver

  constructor(log: LogState, receiver: Receiver) {
    this.#log = log
    this.#receiver = receiver
  }

  /** Signs a prune record for an own stream, and applies it. */
  pruneOwn(number: number, count: number): Uint8Array {
    const signed = signPrune(number, count, this.#log.options)
    this.prune(signed)
    return signed
  }

  /** Applies a prune record. The head of its checkpoint is needed if that is not stored, except for own streams. */
  prune(signed: Uint8Array, signedHead?: Uint8Array): void {
    const record = verifyPrune(signed, this.#log.options)
    const { stream, count } = record
    const state = this.#log.stream(stream)
    const effect = effectOfPrune(record, signedHead, state, this.#log.options)
    if (effect.is === 'none') return
    // Nothing is added to a forked stream.
    if (effect.is === 'start' && state !== undefined && this.#log.frozen.has(state.number)) return
    this.#log.transaction(() => {
      // Looked up again: beginning the transaction may have reloaded all streams.
      const known = this.#log.stream(stream) ?? this.#log.addStream(stream)
      if (effect.is === 'start') this.#startAt(known, effect)
      else this.#ensureCheckpoint(known, record, signedHead)
      this.#removeUpTo(known, count, signed)
      if (effect.is === 'start') this.#receiver.appendWaiting(known)
    })
  }

  #startAt(state: StreamState, { head, signedHead }: PruneStart): void {
    const { database } = this.#log
    const all = [rowKey(state.number, 0), rowKey(state.number + 1, 0)] as const
    for (const table of ['tail', 'segment', 'checkpoint'])
      database.prepare(`DELETE FROM ${table} WHERE key >= ? AND key < ?`).run(...all)
    this.#dropRanges(state, head.count)
    startAtCheckpoint(state, head)
    this.#log.insertCheckpoint(state, signedHead)
    // The head of an own stream is signed on demand.
    if (!state.own) this.#log.saveHead(state, signedHead)
    this.#log.clock.follow(head.lamport)
  }

  #ensureCheckpoint(state: StreamState, record: PruneRecord, signedHead: Uint8Array | undefined): void {
    const { database, options } = this.#log
    const key = rowKey(state.number, record.count)
    if (database.prepare('SELECT 1 FROM checkpoint WHERE key = ?').get(key) !== undefined) {
      // Throws if it is damaged: the rest of the stream is verified from it.
      checkpointAt(database, state.number, record.count)
      return
    }
    const at = chainAt(this.#log, state, record.count)
    const signed = earlyCheckpoint(record, signedHead, at, options)
    if (at !== undefined) insertEarlyCheckpoint(this.#log, state, at, signed)
  }

  #removeUpTo(state: StreamState, count: number, signed: Uint8Array): void {
    const { database } = this.#log
    const bounds = [rowKey(state.number, 0), rowKey(state.number, count)] as const
    for (const table of ['segment', 'tail', 'checkpoint', 'redaction', 'waiting'])
      database.prepare(`DELETE FROM ${table} WHERE key >= ? AND key < ?`).run(...bounds)
    this.#dropRanges(state, count)
    this.#log.changed.add(state)
    state.pruned = count
    state.sealed = Math.max(state.sealed, count)
    if (state.checkpoint <= state.sealed) state.unsealedChunksAtMost = 0
    // The damaged chunk may be gone; if not, the next seal detects it again.
    state.sealable = true
    state.revision++
    this.#log.saveStream(state, { record: signed })
  }

  /** Signs a redaction record for an own stream, and applies it. */
  redactOwn(number: number, offset: number): Uint8Array {
    const { options } = this.#log
    const signed = signRedaction(number, offset, this.#log.stream(ownStreamKey(number, options)), options)
    this.redact(signed)
    return signed
  }

  /** Removes payload and salt from the rows, from free pages and from the write-ahead log. */
  redact(signed: Uint8Array): void {
    const record = verifyRedaction(signed, this.#log.options)
    const { stream, offset } = record
    const state = this.#log.stream(stream) ?? this.#log.transaction(() => this.#log.addStream(stream))
    const effect = effectOfRedaction(record, state)
    if (effect === 'none') return
    this.#log.erasingTransaction(() => {
      const { database } = this.#log
      keepRedaction(database, state.number, offset, signed)
      database.exec('DELETE FROM waiting')
      if (effect === 'expect') return
      if (offset < state.sealed) this.#redactSegment(state, offset)
      else this.#redactTail(state, offset)
      rewriteTail(database)
      state.revision++
    })
    this.#log.scrub()
  }

  #dropRanges({ number }: StreamState, count: number): void {
    for (const range of soundRanges(this.#log.database, number))
      if (range.first + range.count <= count) deleteRange(this.#log.database, range.id)
  }

  #redactSegment(state: StreamState, offset: number): void {
    const { database } = this.#log
    const start = rowKey(state.number, 0)
    const row = database
      .prepare(`SELECT ${segmentColumns} FROM segment WHERE key <= ? ORDER BY key DESC LIMIT 1`)
      .get(start + offset) as unknown as WholeSegmentRow | undefined
    if (row === undefined || row.key + row.count <= start + offset)
      throw new DamagedData(`the event ${offset} of stream ${state.number} is missing`)
    const frames = withoutPayloads(framesOfSegment(new Segment(row)), [offset])
    database.prepare('DELETE FROM segment WHERE key = ?').run(row.key)
    segmentInserter(database)(row, encodeSegment(frames, streamIdOf(state.key), row.size))
  }

  #redactTail(state: StreamState, offset: number): void {
    const { database } = this.#log
    const start = rowKey(state.number, 0)
    const found = database.prepare(
      'SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key <= ? ORDER BY key DESC LIMIT 1',
    )
    const row = found.get(start + offset) as unknown as TailRow | undefined
    if (row === undefined || row.key + row.count <= start + offset)
      throw new DamagedData(`the event ${offset} of stream ${state.number} is missing`)
    const records = recordsOfFrames(withoutPayloads(framesOf(row), [offset]))
    database.prepare('DELETE FROM tail WHERE key = ?').run(row.key)
    // A redaction does not change the chain.
    this.#log.insertTail(tailRow(row.key, row.count, row.lamport, chainPointOf(row), records))
  }
}
