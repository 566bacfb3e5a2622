import { isMarkedAsUntransferable } from 'node:worker_threads'

// Only buffers of more than half of this have memory of their own, which can be given back.
Buffer.poolSize = 8 * 1024

/**
 * Gives memory back at once instead of leaving it to the garbage collector, which sees a small object and not the
 * megabytes behind it. Nobody may look at it any more; small buffers that share their memory with others keep it.
 */
export function release({ buffer }: ArrayBufferView): void {
  if (isOwn(buffer)) buffer.transfer(0)
}

/** Whether it is memory that can be given away. */
export function isOwn(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return buffer instanceof ArrayBuffer && !buffer.detached && !isMarkedAsUntransferable(buffer)
}

/** Bytes of memory of the process; nothing when they cannot be read, for want of a file descriptor. */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}
