import { ShoalError } from '../../errors.ts'
import {
  ByteReader,
  type Frame,
  type Head,
  heads,
  type PruneRecord,
  pruneRecords,
  type RedactionRecord,
  readFrame,
  redactionRecords,
  type StreamKey,
  withoutPayload,
} from '../../protocol/index.ts'
import { ChainEnd } from './chain-end.ts'
import { checkpointAt } from './checkpoints.ts'
import { DamagedData } from './checksum.ts'
import { rewriteTail } from './database.ts'
import type { LogState } from './log-state.ts'
import { deleteRange, soundRanges } from './ranges.ts'
import { isTooFarAhead, type Receiver } from './receive.ts'
import { framesOfSegment } from './records.ts'
import { keepRedaction } from './redactions.ts'
import { rowKey } from './row-key.ts'
import { encodeSegment, Segment } from './segment.ts'
import { segmentColumns } from './segment-columns.ts'
import { segmentInserter, type WholeSegmentRow } from './segment-row.ts'
import { streamIdOf } from './stream-id.ts'
import type { StreamState } from './stream-state.ts'
import { chainPointOf, framesOf, type TailRow, tailRow } from './tail-row.ts'

/** Removes events from the start of a stream, and payloads from anywhere in it, as the node of the stream has signed. */
export class Remover {
  readonly #log: LogState
  readonly #receiver: Receiver

  constructor(log: LogState, receiver: Receiver) {
    this.#log = log
    this.#receiver = receiver
  }

  /** Signs that the events of an own stream before a checkpoint are no longer needed, and removes them. */
  pruneOwn(number: number, count: number): Uint8Array {
    const { topic, key } = this.#log.options
    const record: PruneRecord = { topic, stream: { node: key.publicKey, number }, count, time: this.#log.now() }
    const signed = pruneRecords.sign(record, key)
    this.prune(signed)
    return signed
  }

  /**
   * Removes what a record says. Where less than that has come, the checkpoint head is needed, too: the stream then starts
   * there, and what comes next is verified from it.
   */
  prune(signed: Uint8Array, signedHead?: Uint8Array): void {
    const { stream, count, topic } = pruneRecords.verify(signed)
    this.#checkTopic(topic)
    const state = this.#log.stream(stream)
    if (state !== undefined && count <= state.pruned) return
    const start =
      state === undefined || state.count < count ? this.#checkpointFor(stream, count, signedHead) : undefined
    this.#log.transaction(() => {
      const known = state ?? this.#log.addStream(stream)
      if (start !== undefined && signedHead !== undefined) this.#startAt(known, start, signedHead)
      else this.#requireCheckpoint(known, count)
      this.#removeUpTo(known, count, signed)
      if (start !== undefined) this.#receiver.appendWaiting(known)
    })
  }

  #startAt(state: StreamState, head: Head, signedHead: Uint8Array): void {
    const { database } = this.#log
    const all = [rowKey(state.number, 0), rowKey(state.number + 1, 0)] as const
    for (const table of ['tail', 'segment', 'checkpoint'])
      database.prepare(`DELETE FROM ${table} WHERE key >= ? AND key < ?`).run(...all)
    this.#dropRanges(state, head.count)
    state.count = head.count
    state.lamport = head.lamport
    state.chain = new ChainEnd(head.hash)
    this.#log.insertCheckpoint(state, signedHead)
    // The head of an own stream is signed whenever it is asked for.
    if (!state.own) this.#log.saveHead(state, signedHead)
    this.#log.clock = Math.max(this.#log.clock, head.lamport + 1)
  }

  /** The head of the checkpoint at which a stream starts for somebody who has nothing before it. */
  #checkpointFor(stream: StreamKey, count: number, signedHead: Uint8Array | undefined): Head {
    if (signedHead === undefined)
      throw new ShoalError('ERR_INVALID_INPUT', `There is no checkpoint after ${count} events of this stream.`)
    const { topic, now } = this.#log.options
    const head = heads.verify(signedHead)
    const fits =
      head.checkpoint &&
      head.count === count &&
      head.topic === topic &&
      head.stream.number === stream.number &&
      Buffer.compare(head.stream.node, stream.node) === 0
    if (!fits) throw new ShoalError('ERR_INVALID_INPUT', 'This head is not the checkpoint that the prune record names.')
    if (isTooFarAhead(head.lamport, now()))
      throw new ShoalError('ERR_INVALID_INPUT', 'The lamport timestamps of this stream are too far in the future.')
    return head
  }

  #requireCheckpoint({ number }: StreamState, count: number): void {
    if (this.#log.database.prepare('SELECT 1 FROM checkpoint WHERE key = ?').get(rowKey(number, count)) === undefined)
      throw new ShoalError('ERR_INVALID_INPUT', `There is no checkpoint after ${count} events of this stream.`)
    // Everything that is left will rest on it.
    checkpointAt(this.#log.database, number, count)
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
    // What was damaged may be gone; if it is not, the next seal finds it again.
    state.sealable = true
    state.revision++
    this.#log.saveStream(state, { record: signed })
  }

  /** Signs that a payload of an own stream is to be removed everywhere, and removes it here. */
  redactOwn(number: number, offset: number): Uint8Array {
    const { topic, key } = this.#log.options
    const stream = { node: key.publicKey, number }
    // Other nodes would remove whatever comes to stand there later.
    if (offset >= (this.#log.stream(stream)?.count ?? 0))
      throw new ShoalError('ERR_INVALID_INPUT', `There is no event ${offset} in this stream.`)
    const record: RedactionRecord = { topic, stream, offset, time: this.#log.now() }
    const signed = redactionRecords.sign(record, key)
    this.redact(signed)
    return signed
  }

  /** Payload and salt are gone afterwards: from the rows, from free pages and from the write-ahead log. */
  redact(signed: Uint8Array): void {
    const { stream, offset, topic } = redactionRecords.verify(signed)
    this.#checkTopic(topic)
    const state = this.#log.stream(stream) ?? this.#log.transaction(() => this.#log.addStream(stream))
    if (offset < state.pruned) return
    this.#log.erasingTransaction(() => {
      const { database } = this.#log
      keepRedaction(database, state.number, offset, signed)
      // Chunks that wait may contain it. They come again.
      database.exec('DELETE FROM waiting')
      if (offset >= state.count) return
      if (offset < state.sealed) this.#redactSegment(state, offset)
      else this.#redactTail(state, offset)
      rewriteTail(database)
      state.revision++
    })
    this.#log.scrub()
  }

  #checkTopic(topic: string): void {
    if (topic !== this.#log.options.topic)
      throw new ShoalError('ERR_INVALID_INPUT', 'This record is for another topic.')
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
    const frames = withoutOffset(framesOfSegment(new Segment(row)), offset)
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
    const frames = withoutOffset(framesOf(row), offset)
    const records = Buffer.concat(frames.map(({ bytes, record }) => bytes.subarray(...record)))
    database.prepare('DELETE FROM tail WHERE key = ?').run(row.key)
    // A removed payload leaves the chain as it is.
    this.#log.insertTail(tailRow(row.key, row.count, row.lamport, chainPointOf(row), records))
  }
}

function withoutOffset(frames: readonly Frame[], offset: number): Frame[] {
  return frames.map((frame) => {
    const index = offset - frame.first
    if (index < 0 || index >= frame.count || (frame.payloads[2 * index] as number) < 0) return frame
    return readFrame(new ByteReader(withoutPayload(frame, index)))
  })
}
