import { assert } from '../base/assert.ts'
import { ShoalError } from '../base/errors.ts'
import { nodeAppId } from '../identity/index.ts'
import { DamagedData, type EventLog, type Readings, type StreamStatus } from '../store/index.ts'
import { appendNodeEvents, type NodeEvent, ownNodeEvents } from './node-events.ts'
import type { PublishGate } from './publish-gate.ts'
import { defaultStream, factsStream, mappingTag } from './routing-table.ts'

interface Mapping {
  readonly streamName: string
  readonly streamNr: number
  /** The number that the name had before: that stream cannot be continued. */
  readonly replaces?: number
}

/** A name whose stream cannot be continued, with the new number. */
export type MovedName = Required<Mapping>

/**
 * The numbers of this node's streams by name. A number is assigned once, and only replaced when its stream is frozen.
 * Assignments are stored only as events: in the default stream, or in the stream for facts if the default stream has
 * limits.
 */
export class StreamNames {
  readonly #store: EventLog & Readings
  readonly #gate: PublishGate | undefined
  #numbers: Map<string, number>
  /** The opening of the gate after which the names were read; undefined while it is closed. */
  #readAt: number | undefined
  /** The last assignment. They are made one after the other: two at once would take the same number. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(store: EventLog & Readings, numbers: Map<string, number>, gate: PublishGate | undefined) {
    this.#store = store
    this.#gate = gate
    this.#numbers = numbers
    this.#readAt = gate?.isOpen === false ? undefined : gate?.openings
  }

  static async read(store: EventLog & Readings, gate?: PublishGate): Promise<StreamNames> {
    return new StreamNames(store, await storedNumbers(store), gate)
  }

  /** Whether all events of this node are here, and the names were read since. */
  get areComplete(): boolean {
    return this.#gate === undefined || (this.#gate.isOpen && this.#gate.openings === this.#readAt)
  }

  get numbers(): ReadonlyMap<string, number> {
    return this.#numbers
  }

  /**
   * Assigns numbers to new names. They are valid once they are stored.
   * @param isDefaultLimited whether events of the default stream are removed some day
   */
  add(names: readonly string[], isDefaultLimited: boolean): Promise<void> {
    return this.#inTurn(async () => {
      await this.#complete(isDefaultLimited)
      await this.#unlessForked(isDefaultLimited, () => this.#add(names, isDefaultLimited))
    })
  }

  /** Gives new numbers to the names of frozen streams. Returns these names. */
  leaveFrozen(isDefaultLimited: boolean): Promise<MovedName[]> {
    return this.#inTurn(async () => this.#leave(await this.#frozen(), isDefaultLimited))
  }

  /** Appends events of the node itself to the stream with a name, past the routes. */
  append(name: string, events: readonly Pick<NodeEvent, 'tags' | 'payload'>[]): Promise<void> {
    return this.#inTurn(async () => {
      await this.#complete(true)
      await this.#unlessForked(true, () => appendNodeEvents(this.#store, this.#numberOf(name), events))
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    // A failure is for its caller only.
    this.#last = done.catch(() => {})
    return done
  }

  /** Waits until all events of this node are here, and reads the names again. */
  async #complete(isDefaultLimited: boolean): Promise<void> {
    if (this.areComplete || this.#gate === undefined) return
    await this.#gate.wait()
    const { openings } = this.#gate
    this.#numbers = await storedNumbers(this.#store)
    const abandoned = new Set(this.#gate.abandoned)
    await this.#unlessForked(isDefaultLimited, () => this.#leave(abandoned, isDefaultLimited))
    this.#readAt = openings
  }

  /** Runs work, and once more if it failed because a stream is frozen, whose name has another number then. */
  async #unlessForked(isDefaultLimited: boolean, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isForked(error)) throw error
      const moved = await this.#leave(await this.#frozen(), isDefaultLimited)
      if (moved.length === 0) throw error
      await work()
    }
  }

  async #add(names: readonly string[], isDefaultLimited: boolean): Promise<void> {
    const unknown = names.filter((name) => !this.#numbers.has(name))
    if (unknown.length === 0) return
    const next = await this.#free()
    const mappings = unknown.map((streamName, i) => ({ streamName, streamNr: next + i }))
    assert(next > 0 || mappings[0]?.streamName === defaultStream.name, 'the first stream is the default one')
    await this.#assign(mappings, isDefaultLimited)
  }

  /** Gives new numbers to the names of these streams. */
  async #leave(streams: ReadonlySet<number>, isDefaultLimited: boolean): Promise<MovedName[]> {
    const left = [...this.#numbers].filter(([, number]) => streams.has(number))
    if (left.length === 0) return []
    const next = await this.#free()
    const moved = left.map(([streamName, replaces], i) => ({ streamName, streamNr: next + i, replaces }))
    await this.#assign(moved, isDefaultLimited)
    return moved
  }

  async #assign(mappings: readonly Mapping[], isDefaultLimited: boolean): Promise<void> {
    const numbers = new Map(this.#numbers)
    for (const { streamName, streamNr } of mappings) numbers.set(streamName, streamNr)
    const target = isDefaultLimited ? numbers.get(factsStream) : undefined
    await appendNodeEvents(
      this.#store,
      target ?? numbers.get(defaultStream.name) ?? defaultStream.number,
      mappings.map((payload) => ({ tags: [mappingTag], payload })),
    )
    this.#numbers = numbers
  }

  /** The first number above all that were ever used: also those of streams whose names were lost, or are elsewhere. */
  async #free(): Promise<number> {
    if (this.#numbers.size === 0) return defaultStream.number
    const used = (await this.#store.streams()).filter(({ own }) => own).map(({ key }) => key.number)
    return Math.max(-1, ...this.#numbers.values(), ...used, ...(this.#gate?.abandoned ?? [])) + 1
  }

  /** The numbers of the frozen own streams. */
  async #frozen(): Promise<Set<number>> {
    const frozen = new Set<number>()
    for (const { own, number, key } of await this.#store.streams())
      if (own && (await this.#isFrozen(number))) frozen.add(key.number)
    return frozen
  }

  async #isFrozen(number: StreamStatus['number']): Promise<boolean> {
    try {
      return (await this.#store.evidence(number)) !== undefined
    } catch (error) {
      // A stream with damaged evidence stays frozen.
      if (error instanceof DamagedData) return true
      throw error
    }
  }

  #numberOf(name: string): number {
    const number = this.#numbers.get(name)
    assert(number !== undefined, 'the stream has a name')
    return number
  }
}

/** Whether a stream is frozen, because there are two histories of it. */
export function isForked(error: unknown): boolean {
  return error instanceof ShoalError && error.code === 'ERR_STREAM_FORKED'
}

async function storedNumbers(store: Readings): Promise<Map<string, number>> {
  const numbers = new Map<string, number>()
  const branch = { tags: [mappingTag], appId: nodeAppId, own: true }
  for await (const { payload } of ownNodeEvents(store, { anyOf: [branch], order: 'asc' })) {
    const { streamName, streamNr, replaces } = payload as Mapping
    const known = numbers.get(streamName)
    // The first assignment is valid, since events may be in that stream already, unless it was given up.
    if (known === undefined || known === replaces) numbers.set(streamName, streamNr)
  }
  return numbers
}
