import { limits } from '../limits.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { checkFrame, type Frame, hashAfter } from './frame.ts'
import { type Head, heads } from './signed.ts'
import type { Hash } from './stream.ts'

/**
 * A chunk: the frames between two heads of a stream, with the signed head at its end. It is the unit of transfer and of
 * verification: whoever knows the hash at its start can check it, whoever it came from.
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

/** Reads a chunk and checks everything about it but its place in the chain. */
export function readChunk(bytes: Uint8Array): Chunk {
  if (bytes.length > limits.chunkBytes) throw new MalformedBytes('a chunk is too large')
  const reader = new ByteReader(bytes)
  if (!reader.bytes(domain.length).equals(domain)) throw new MalformedBytes('these bytes are no chunk')
  const signedHead = reader.bytes(reader.uvarint())
  const head = heads.verify(signedHead)
  const count = reader.uvarint()
  if (count < 1 || count > limits.eventsPerChunk) throw new MalformedBytes('a chunk has too many frames, or none')
  const frames = Array.from({ length: count }, () => checkFrame(reader))
  reader.finish()
  const [{ first }] = frames as [Frame]
  checkPlaces(frames, head)
  return { head, signedHead, frames, first }
}

/** Throws unless the frames lead from the hash before them to the hash that the head stands for. */
export function verifyChunk(chunk: Chunk, previous: Hash): void {
  let hash = previous
  for (const frame of chunk.frames) hash = hashAfter(frame, hash)
  if (hash !== chunk.head.hash) throw new MalformedBytes('the frames do not lead to the signed head')
}

/** Offsets are dense, lamport timestamps rise, and the head is that of the last event. */
function checkPlaces(frames: readonly Frame[], head: Head): void {
  let next = frames[0]?.first ?? 0
  let lamport = -1
  for (const frame of frames) {
    if (frame.first !== next) throw new MalformedBytes('there is a gap between frames')
    if ((frame.lamports[0] as number) <= lamport) throw new MalformedBytes('the lamport timestamps do not rise')
    lamport = frame.lamports[frame.count - 1] as number
    next += frame.count
  }
  if (head.count !== next || head.lamport !== lamport) throw new MalformedBytes('the head is not that of these frames')
  if (next - (frames[0]?.first ?? 0) > limits.eventsPerChunk) throw new MalformedBytes('a chunk has too many events')
}
