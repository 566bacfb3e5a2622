import { tuning } from '../base/tuning.ts'
import type { FrameBuilder } from '../protocol/index.ts'

/** Whether a frame of an own stream ends here, although its commit goes on. */
export function isFrameFull({ count, size }: FrameBuilder): boolean {
  return count === tuning.eventsPerOwnFrame || size >= tuning.ownFrameBytes
}
