import { format } from '../base/format.ts'
import { type Chunk, decodeChunk, type Frame, type Head, MalformedBytes } from '../protocol/index.ts'

/** Reads a chunk and checks everything about it but its place in the chain. */
export function readChunk(bytes: Uint8Array): Chunk {
  const chunk = decodeChunk(bytes)
  checkPlaces(chunk.frames, chunk.head)
  return chunk
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
  if (next - (frames[0]?.first ?? 0) > format.eventsPerChunk) throw new MalformedBytes('a chunk has too many events')
}

/** The result of work on bytes from elsewhere; undefined when they are malformed. */
export function unlessMalformed<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof MalformedBytes) return undefined
    throw error
  }
}
