import { isMarkedAsUntransferable } from 'node:worker_threads'

// Buffers larger than half of the pool size have an ArrayBuffer of their own, which can be freed early.
Buffer.poolSize = 8 * 1024

/**
 * Frees the memory of a buffer at once instead of waiting for the garbage collector, which sees a small object and not
 * the megabytes behind it. The buffer must not be used afterwards. Pooled buffers are left alone.
 */
export function release({ buffer }: ArrayBufferView): void {
  if (isTransferable(buffer)) buffer.transfer(0)
}

/** Whether an ArrayBuffer is transferable, and so can be freed or sent to another thread. */
export function isTransferable(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return buffer instanceof ArrayBuffer && !buffer.detached && !isMarkedAsUntransferable(buffer)
}
