import { type Chunk, decodeChunk, MalformedBytes } from '../protocol/index.ts'

/** Decodes and verifies a chunk. Only its place in the hash chain is not checked. */
export function readChunk(bytes: Uint8Array): Chunk {
  return decodeChunk(bytes, checkPlaces)
}

/** Checks that offsets are contiguous, lamport timestamps ascend, and the head matches the last event. */
function checkPlaces({ first, frames, head }: Chunk): void {
  let next = first
  let lamport = -1
  for (const frame of frames) {
    if (frame.first !== next) throw new MalformedBytes('there is a gap between frames')
    if ((frame.lamports[0] as number) <= lamport) throw new MalformedBytes('the lamport timestamps are not ascending')
    lamport = frame.lamports[frame.count - 1] as number
    next += frame.count
  }
  if (head.count !== next || head.lamport !== lamport) throw new MalformedBytes('the head does not match the frames')
}

/** The result of work on untrusted bytes; undefined when they are malformed. */
export function unlessMalformed<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof MalformedBytes) return undefined
    throw error
  }
}
