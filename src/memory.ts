import { setFlagsFromString } from 'node:v8'
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { limits } from './limits.ts'

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

/**
 * Lets threads that start from now on begin with the room for young objects that they may have: it will not grow. Few of them
 * live on, so each thread collects them by itself: helpers would have to be waited for, until they have a processor.
 */
export function prepareHeaps(): void {
  setFlagsFromString(`--min-semi-space-size=${limits.readerYoungGenerationMb / 2}`)
  setFlagsFromString('--no-parallel-scavenge')
  // What is collected while there is nothing to do must not take compiled code with it: see `Samples`.
  setFlagsFromString('--no-memory-reducer-favors-memory')
}

/**
 * Keeps the heaps of the process as they are. The main thread makes few objects that live for long, yet its room for young
 * ones would grow to 64 MB and stay there; it cannot be bounded like that of other threads, so no heap grows any more. To
 * be called once the node runs: a start makes more objects than anything after it.
 */
export function boundHeaps(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Lets them grow again: those that have given everything back would have too little room for the next work. */
export function unboundHeaps(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
