import { assert } from '../base/assert.ts'
import { ShoalError } from '../base/errors.ts'
import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { encodeChunk, type Frame } from '../protocol/index.ts'
import { requireOffset } from './chain-position.ts'
import type { StoredStream } from './stored-stream.ts'
import { endOfChunk } from './stream-heads.ts'

interface Served {
  readonly bytes: Uint8Array
  /** The count of its head. */
  readonly end: number
}

/**
 * The chunk from a frame border to the next checkpoint, or without one to the newest head. A chunk can only be verified
 * as a whole, so one that is larger than `maxBytes` is not given at all.
 * @returns undefined when there are no events after `from`, or when the chunk is larger than `maxBytes`
 */
export function chunkFrom(
  stream: StoredStream,
  newest: Uint8Array | undefined,
  from: number,
  maxBytes: number = format.chunkBytes,
): Uint8Array | undefined {
  requireSize(maxBytes)
  return serve(stream, newest, from, maxBytes)?.bytes
}

/** Consecutive chunks from a frame border up to a size in total, but at least one; empty when there are no events. */
export function chunksFrom(
  stream: StoredStream,
  newest: Uint8Array | undefined,
  from: number,
  maxBytes: number,
): Uint8Array[] {
  const chunks = new ChunkSeries(from, maxBytes)
  while (chunks.readNext(stream, newest));
  return chunks.read
}

/** Consecutive chunks that are read one by one: the next one may be read from a later snapshot of the stream. */
export class ChunkSeries {
  readonly read: Uint8Array[] = []
  #next: number
  #left: number

  constructor(from: number, maxBytes: number) {
    requireSize(maxBytes)
    this.#next = from
    this.#left = Math.min(maxBytes, limits.servedBytes)
  }

  /** Reads the next chunk. Returns whether there may be one after it. */
  readNext(stream: StoredStream, newest: Uint8Array | undefined): boolean {
    const isFirst = this.read.length === 0
    const served = serve(stream, newest, this.#next, isFirst ? format.chunkBytes : this.#left)
    if (served === undefined) return false
    this.read.push(served.bytes)
    this.#left -= served.bytes.length
    this.#next = served.end
    return this.#left > 0 && this.read.length < limits.servedChunks
  }
}

function serve(
  stream: StoredStream,
  newest: Uint8Array | undefined,
  from: number,
  maxBytes: number,
): Served | undefined {
  requireOffset(from)
  if (from < stream.pruned) throw new ShoalError('ERR_INVALID_INPUT', `The events from ${from} on were pruned.`)
  const end = endOfChunk(from, stream.checkpointAfter(from), newest)
  if (end === undefined) return undefined
  // Of a forked stream only what both branches have in common is served.
  if (end.count > (stream.frozen ?? end.count)) return undefined
  const records: Uint8Array[] = []
  let size = end.signedHead.length
  let next = from
  for (const frame of stream.frames(from, end.count)) {
    if (frame.first < from) throw notABorder(from, frame)
    assert(frame.first === next, 'the frames of a chunk have no gaps')
    next = frame.first + frame.count
    const record = frame.bytes.subarray(...frame.record)
    size += record.length
    // Before the rest is read.
    if (size > Math.min(maxBytes, format.chunkBytes)) return tooLarge(from, maxBytes)
    records.push(record)
  }
  assert(next === end.count, 'the frames of a chunk end at its head')
  const bytes = encodeChunk(records, end.signedHead)
  return bytes.length > Math.min(maxBytes, format.chunkBytes) ? tooLarge(from, maxBytes) : { bytes, end: end.count }
}

/** A chunk above the limit of the protocol would be refused by every node. */
function tooLarge(from: number, maxBytes: number): undefined {
  if (maxBytes < format.chunkBytes) return undefined
  throw new ShoalError('ERR_IO', `The chunk from ${from} on is larger than ${format.chunkBytes} bytes.`)
}

function notABorder(from: number, { first, count }: Frame): ShoalError {
  const end = first + count
  return new ShoalError(
    'ERR_INVALID_INPUT',
    `No frame starts at the offset ${from}. It is in the frame from ${first} to ${end}: start at one of these.`,
  )
}

function requireSize(bytes: number): void {
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw new ShoalError('ERR_INVALID_INPUT', `${bytes} is no size: at least 1 byte is needed.`)
}
