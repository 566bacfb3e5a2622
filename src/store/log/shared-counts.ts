import { limits } from '../../limits.ts'
import type { StreamNumber } from './row-key.ts'

/** Number of streams, times of sealing, times of removing, whether somebody reads. */
const header = 4

/**
 * How far each stream goes, told by the writer to the readers through shared memory: whoever has got the answer to a
 * publish finds its events in the next query, whichever thread runs it.
 */
export class SharedCounts {
  readonly memory: SharedArrayBuffer
  readonly #cells: BigUint64Array

  constructor(memory = new SharedArrayBuffer(8 * (header + 2 * limits.streamsPerTopic))) {
    this.memory = memory
    this.#cells = new BigUint64Array(memory)
  }

  /** How many streams there are: their numbers are 0, 1, 2, … */
  get streams(): number {
    return this.#get(0)
  }

  /** Rises whenever events were sealed: they have an index now. */
  get seals(): number {
    return this.#get(1)
  }

  /** Rises whenever something was removed: what was read before may be gone. */
  get removals(): number {
    return this.#get(2)
  }

  count(stream: StreamNumber): number {
    return this.#get(header + 2 * stream)
  }

  pruned(stream: StreamNumber): number {
    return this.#get(header + 1 + 2 * stream)
  }

  set(stream: StreamNumber, count: number, pruned: number): void {
    this.#set(header + 2 * stream, count)
    this.#set(header + 1 + 2 * stream, pruned)
    // Last, so that whoever sees the stream sees how far it goes.
    if (stream >= this.streams) this.#set(0, stream + 1)
  }

  sealed(): void {
    this.#set(1, this.seals + 1)
  }

  removed(): void {
    this.#set(2, this.removals + 1)
  }

  /**
   * Whether the thread that reads has something to do, and is to be told what grows. It says so before it looks how far
   * streams go, and the writer asks after it has said how far they go: what one of them misses, the other one sees.
   */
  get isRead(): boolean {
    return this.#get(3) === 1
  }

  set isRead(value: boolean) {
    this.#set(3, value ? 1 : 0)
  }

  #get(cell: number): number {
    return Number(Atomics.load(this.#cells, cell))
  }

  #set(cell: number, value: number): void {
    Atomics.store(this.#cells, cell, BigInt(value))
  }
}
