import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { assert } from './assert.ts'
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
  setGrowth(1)
}

/** Bytes of memory of the process; nothing when they cannot be read, for want of a file descriptor. */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}

type Collect = (
  options: { readonly type: 'major'; readonly flavor: 'last-resort' } | { readonly type: 'minor' },
) => void

let collect: Collect | undefined

function collector(): Collect {
  if (collect === undefined) {
    // All threads share the flags, so they stay as they are: another one might be about to look.
    setFlagsFromString('--expose-gc')
    // Code is not what takes the room, and without it the next work would begin as slowly as after a start.
    setFlagsFromString('--no-flush-bytecode')
    collect = runInNewContext('gc') as Collect
  }
  return collect
}

/** Collects whatever nobody needs in this thread, and gives the room for young objects back, too. */
export function collectAll(): void {
  collector()({ type: 'major', flavor: 'last-resort' })
}

/** Bytes of a small array: less than it takes, so that enough of them are made. */
const arrayBytes = 40

/**
 * Gives this thread, after all was collected, room for so many mebibytes of young objects again. V8 gives a thread more room when
 * as much has outlived collections as there is, which takes long where hardly anything does, and until then it goes through
 * all of it every few milliseconds. So something outlives a collection here.
 */
export function growRoom(mebibytes: number): void {
  const bytes = youngBytes()
  const times = Math.floor((mebibytes * 1024 * 1024) / bytes)
  if (times <= 1) return
  setGrowth(times)
  try {
    const survivors = Array.from({ length: (2 * bytes) / arrayBytes }, (_, i) => [i])
    collector()({ type: 'minor' })
    assert(survivors.length > 0, 'whatever is still asked for has survived')
  } finally {
    boundHeaps()
  }
}

/** Bytes of young objects that this thread has room for. */
export function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  assert(young !== undefined, 'there is room for young objects')
  return young.space_used_size + young.space_available_size
}

/** How many times as large the room for young objects becomes when it grows, in all threads. */
function setGrowth(times: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${times}`)
}
