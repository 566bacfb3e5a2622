import type { Checkpoint, ChunkSize, NewestTime, StreamNumber } from './streams.ts'

/**
 * What retention has to know of a stream before it prunes. Backup, verification and statistics work on the database
 * file.
 */
export interface Maintenance {
  /** The checkpoints of a stream, in order. */
  checkpoints(stream: StreamNumber): Promise<Checkpoint[]>
  /** The chunks of a stream that are there, in order, the one that is being written included. */
  chunkSizes(stream: StreamNumber): Promise<ChunkSize[]>
  /**
   * The newest time of the events from one offset up to another, or of those of them that are quick to read
   * together.
   */
  newestTime(stream: StreamNumber, from: number, to: number): Promise<NewestTime>
}
