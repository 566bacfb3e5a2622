import { limits } from '../limits.ts'
import type { FrameBuilder } from '../protocol/index.ts'

/** Whether a frame of an own stream ends here, although its commit goes on. */
export function isFrameFull({ count, size }: FrameBuilder): boolean {
  return count === limits.eventsPerOwnFrame || size >= limits.ownFrameBytes
}
