import { tuning } from '../base/tuning.ts'
import type { FrameBuilder } from '../protocol/index.ts'

/** Whether a frame of an own stream is full; a large commit has several frames. */
export function isFrameFull({ count, size }: FrameBuilder): boolean {
  return count === tuning.eventsPerOwnFrame || size >= tuning.ownFrameBytes
}
