import { limits } from '../../limits.ts'
import type { StreamNumber } from './row-key.ts'

/** Number of streams, times of sealing, times of removing, whose events are waited for, times of appending. */
const header = 5
/** How many events a stream has, how many are pruned, how many sealed. */
const perStream = 3

/** Whose new events are waited for: from 2 on it is the hash of an app ID. */
const waiting = { forAll: 0, forNone: 1, forApp: 2 } as const

/**
 * How far each stream goes, told by the writer to the readers through shared memory: whoever has got the answer to a
 * publish finds its events in the next query, whichever thread runs it.
 */
export class SharedCounts {
  readonly memory: SharedArrayBuffer
  readonly #cells: BigUint64Array

  constructor(memory = new SharedArrayBuffer(8 * (header + perStream * limits.streamsPerTopic))) {
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

  /** Rises whenever own events are about to be stored. */
  get appends(): number {
    return this.#get(4)
  }

  count(stream: StreamNumber): number {
    return this.#get(header + perStream * stream)
  }

  pruned(stream: StreamNumber): number {
    return this.#get(header + perStream * stream + 1)
  }

  /** Events before this one are sealed or pruned. More may be by now: it only says where to look first. */
  sealed(stream: StreamNumber): number {
    return this.#get(header + perStream * stream + 2)
  }

  set(stream: StreamNumber, count: number, pruned: number, sealed: number): void {
    this.#set(header + perStream * stream, count)
    this.#set(header + perStream * stream + 1, pruned)
    this.#set(header + perStream * stream + 2, sealed)
    // Last, so that whoever sees the stream sees how far it goes.
    if (stream >= this.streams) this.#set(0, stream + 1)
  }

  tellAppending(): void {
    this.#set(4, this.appends + 1)
  }

  tellSealed(): void {
    this.#set(1, this.seals + 1)
  }

  tellRemoved(): void {
    this.#set(2, this.removals + 1)
  }

  /**
   * Says whose new events the thread that reads waits for: it is told of no others. It has to say so before it looks how
   * far streams go, and the writer asks after it has said how far they go: what one of them misses, the other one sees.
   */
  waitFor(events: 'all' | 'none' | { readonly app: number }): void {
    if (events === 'all') this.#set(3, waiting.forAll)
    else this.#set(3, events === 'none' ? waiting.forNone : waiting.forApp + events.app)
  }

  /** Whether somebody waits for events of these apps; nothing stands for any app. */
  isWaitedFor(apps: ReadonlySet<number> | undefined): boolean {
    const state = this.#get(3)
    if (state < waiting.forApp) return state === waiting.forAll
    return apps?.has(state - waiting.forApp) ?? true
  }

  #get(cell: number): number {
    return Number(Atomics.load(this.#cells, cell))
  }

  #set(cell: number, value: number): void {
    Atomics.store(this.#cells, cell, BigInt(value))
  }
}
