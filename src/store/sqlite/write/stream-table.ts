import type { DatabaseSync } from 'node:sqlite'
import type { StreamKey } from '../../../protocol/index.ts'
import {
  isOwnStream,
  nameOfStream,
  noRoomForStream,
  StreamBudget,
  type StreamLimit,
  startOfStream,
  type TopicContext,
} from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { asDamage } from '../rows/checksum.ts'
import { introductionsOf } from '../rows/introductions.ts'
import { loadStreams, newStream, type StreamState } from '../rows/stream-state.ts'

/** The streams of a log in memory: their positions, their slots, and the budget for new ones. */
export class StreamTable {
  readonly #context: TopicContext
  #streams = new Map<string, StreamState>()
  /** Number of slots: of streams, and vacant ones. */
  #slots = 0
  #vacant: readonly StreamNumber[] = []
  /** Slots that were vacant when the log was opened: no reader has read anything of another stream there. */
  readonly #reusable = new Set<StreamNumber>()
  #budget = new StreamBudget()

  constructor(context: TopicContext) {
    this.#context = context
  }

  get all(): IterableIterator<StreamState> {
    return this.#streams.values()
  }

  find(key: StreamKey): StreamState | undefined {
    return this.#streams.get(nameOfStream(key))
  }

  /** The number of events of all streams, including pruned ones. */
  get events(): number {
    let events = 0
    for (const { count } of this.all) events += count
    return events
  }

  /** The limit that keeps a stream from being added; undefined when there is none. */
  limitOf(key: StreamKey, from?: string): StreamLimit | undefined {
    const slots = this.#slots - this.#reusable.size
    return this.#budget.limitOf({ ...key, own: isOwnStream(key, this.#context) }, slots, from)
  }

  /** Adds a stream. Throws when it exceeds a limit. Returns whether its slot had another stream before. */
  add(key: StreamKey, from?: string): { readonly state: StreamState; readonly isReused: boolean } {
    const limit = this.limitOf(key, from)
    if (limit !== undefined) throw noRoomForStream(limit)
    const own = isOwnStream(key, this.#context)
    const { topic, kind } = this.#context
    const [vacant] = this.#reusable
    // Not added again if the transaction fails: it is reusable after the next start.
    if (vacant !== undefined) this.#reusable.delete(vacant)
    const state = newStream(vacant ?? this.#slots++, startOfStream(topic, kind, key, own))
    this.#streams.set(nameOfStream(key), state)
    this.#budget.add({ ...key, own }, from)
    return { state, isReused: vacant !== undefined }
  }

  /**
   * Removes a stream of another node. Its slot is reused after the next start only: a reader may have positions in the
   * stream, to which all of its events are pruned.
   */
  vacate(state: StreamState, from: string | undefined): void {
    this.#budget.remove(state.key, from)
    this.#streams.delete(nameOfStream(state.key))
    state.pruned = state.count
    state.sealed = state.count
    state.revision++
  }

  /** Makes the slots reusable that are vacant now. Called when the log is opened. */
  reuseVacant(): void {
    for (const number of this.#vacant) this.#reusable.add(number)
  }

  load(database: DatabaseSync): void {
    const { topic, kind, key } = this.#context
    const before = this.#streams
    const { states, vacant } = asDamage(() => loadStreams(database, { topic, kind, own: key.publicKey }))
    this.#streams = new Map(states.map((state) => [nameOfStream(state.key), state]))
    this.#slots = states.length + vacant.length
    this.#vacant = vacant
    const introductions = introductionsOf(database)
    this.#budget = new StreamBudget()
    for (const { key: stream, own, number } of states) this.#budget.add({ ...stream, own }, introductions.get(number))
    // Always a new revision: seals and merges that were planned before must not be applied.
    for (const [name, state] of this.#streams) state.revision = (before.get(name)?.revision ?? 0) + 1
  }
}
