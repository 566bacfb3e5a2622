import type { DatabaseSync } from 'node:sqlite'
import type { Frame } from '../../../protocol/index.ts'
import { type FrameTime, frameTime, type StreamNumber } from '../../port/index.ts'
import { checkpointsAfter } from '../rows/checkpoints.ts'
import { framesFrom } from './frames.ts'
import { inTransaction } from './read-transaction.ts'

/** The frames of the chunk that starts at an offset, of a stream with `count` events. */
export function framesOfChunk(database: DatabaseSync, stream: StreamNumber, from: number, count: number): FrameTime[] {
  return inTransaction(database, () => {
    const end = checkpointsAfter(database, stream, from, 1)[0]?.count ?? count
    return framesBetween(database, stream, from, end).map(frameTime)
  })
}

/** The frames between two offsets, exactly as they were written. */
export function framesBetween(database: DatabaseSync, stream: StreamNumber, from: number, to: number): Frame[] {
  return [...framesFrom(database, stream, from, to)]
}
