import type { Checkpoint, ChunkSize, FrameTime, NewestTime, StreamNumber } from './streams.ts'

/** Queries for retention and redaction. Backup, verification and statistics work on the database file instead. */
export interface RetentionQueries {
  /** The checkpoints of a stream, in ascending order. */
  checkpoints(stream: StreamNumber): Promise<Checkpoint[]>
  /** The stored chunks of a stream, in ascending order, including the incomplete last one. */
  chunkSizes(stream: StreamNumber): Promise<ChunkSize[]>
  /** The newest timestamp of the events in a range, or of those at its end that can be read at once. */
  newestTime(stream: StreamNumber, from: number, to: number): Promise<NewestTime>
  /** The frames of the chunk that starts at an offset, in ascending order. */
  framesOfChunk(stream: StreamNumber, from: number): Promise<FrameTime[]>
  /** The redacted offsets in a range, in ascending order; `to` is exclusive. */
  redactedOffsets(stream: StreamNumber, from: number, to: number): Promise<number[]>
}
