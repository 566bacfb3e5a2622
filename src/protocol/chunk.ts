import { format } from '../base/format.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { checkContents, checkStructure } from './check-frame.ts'
import type { Frame } from './frame.ts'
import { minFrameBytes, readHeader } from './read-frame.ts'
import { type Head, heads } from './signed.ts'

/**
 * A chunk: the frames between two heads of a stream, with the signed head at its end. It is the unit of transfer and of
 * verification: a node that knows the chain hash at its start can verify a chunk from any peer.
 */
export interface Chunk {
  readonly head: Head
  readonly signedHead: Buffer
  readonly frames: readonly Frame[]
  readonly first: number
}

const domain = Buffer.from('shoal/chunk/1\0', 'latin1')

export function encodeChunk(records: readonly Uint8Array[], signedHead: Uint8Array): Buffer {
  const size = records.reduce((sum, record) => sum + record.length, signedHead.length + 64)
  const writer = new ByteWriter(size).bytes(domain).uvarint(signedHead.length).bytes(signedHead).uvarint(records.length)
  for (const record of records) writer.bytes(record)
  return writer.written
}

/**
 * Decodes a chunk. Checks its encoding, its size, each frame and the signature, but not how the frames are linked. What
 * is cheap is checked first: the structure of all frames, then what the caller adds, then the signature, and only then
 * the labels and payloads.
 */
export function decodeChunk(bytes: Uint8Array, checkMore: (chunk: Chunk) => void = () => undefined): Chunk {
  const chunk = parseChunk(bytes)
  checkMore(chunk)
  heads.verify(chunk.signedHead)
  checkContents(chunk.frames)
  return chunk
}

/** Decodes a chunk that was verified before. */
export function readVerifiedChunk(bytes: Uint8Array): Chunk {
  return parseChunk(bytes)
}

function parseChunk(bytes: Uint8Array): Chunk {
  if (bytes.length > format.chunkBytes) throw new MalformedBytes('a chunk is too large')
  const reader = new ByteReader(bytes)
  if (!reader.bytes(domain.length).equals(domain)) throw new MalformedBytes('these bytes are not a chunk')
  const signedHead = reader.bytes(reader.uvarint())
  const head = heads.decode(signedHead)
  const frames = parseFrames(reader)
  reader.finish()
  const [{ first }] = frames as [Frame]
  return { head, signedHead, frames, first }
}

/** Counts are checked against limits and remaining bytes before anything is read or allocated for them. */
function parseFrames(reader: ByteReader): Frame[] {
  const count = reader.uvarint()
  if (count < 1 || count > format.eventsPerChunk) throw new MalformedBytes('a chunk has no frames or too many')
  if (count * minFrameBytes > reader.remaining)
    throw new MalformedBytes('a chunk has more frames than its bytes can hold')
  const frames: Frame[] = []
  // Each frame has at least one event, so every frame that follows takes one of the limit.
  let spare = format.eventsPerChunk - count
  while (frames.length < count) {
    const frame = checkStructure(reader, 1 + spare)
    spare -= frame.count - 1
    frames.push(frame)
  }
  return frames
}

/** The signed head of a chunk; nothing is verified. */
export function signedHeadOf(bytes: Uint8Array): Buffer {
  const reader = new ByteReader(bytes)
  if (!reader.bytes(domain.length).equals(domain)) throw new MalformedBytes('these bytes are not a chunk')
  return reader.bytes(reader.uvarint())
}

/** The offset of the first event of a chunk; nothing is verified. */
export function firstOffsetOf(bytes: Uint8Array): number {
  const reader = new ByteReader(bytes)
  reader.skip(domain.length)
  reader.skip(reader.uvarint())
  if (reader.uvarint() < 1) throw new MalformedBytes('a chunk has no frames or too many')
  return readHeader(reader).first
}
