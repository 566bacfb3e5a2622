import assert from 'node:assert/strict'
import { presentOffsets } from '../../../src/events/offsets.ts'
import type { Reading, SqliteEventStore } from '../../../src/store/index.ts'
import { packed } from '../../support/events.ts'
import { until } from '../../support/process.ts'

export type Kind = 'subscribe' | 'subscribe_monotonic' | 'query'

interface Message {
  readonly type: string
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly caughtUp?: boolean
  readonly offsets: Readonly<Record<string, number>>
}

/** A query or subscription with its messages so far. */
export interface Followed {
  readonly kind: Kind
  readonly messages: Message[]
  readonly reading: Reading
  isEnded: boolean
}

/** The state before a run: number of events, and offsets. */
interface Base {
  readonly events: number
  readonly lowerBound: Readonly<Record<string, number>>
}

const appId = 'com.example.a'

/**
 * The expected events of a node that is the only writer: their lamport timestamps are 0, 1, 2, …, so the number of
 * events after a commit determines the content of a consistent snapshot.
 */
export class OwnEvents {
  store!: SqliteEventStore
  /** Stream and offset of each event, by lamport timestamp. */
  readonly #places: [stream: number, offset: number][] = []
  readonly #ends = new Map<number, number>()
  /** Number of events after each commit. */
  readonly #boundaries = new Set([0])
  /** Lamport timestamps after the last event of each request that was not seen in a commit yet. */
  readonly #requestEnds: number[] = []
  #pending: Promise<unknown>[] = []
  readonly #followed: Followed[] = []

  get commits(): number {
    return this.#boundaries.size - 1
  }

  /** Records that the first `requests` acknowledged requests were one commit. */
  committed(requests: number): void {
    // Append promises are resolved first, and their continuations run after that.
    queueMicrotask(() => this.#boundaries.add(this.#requestEnds.splice(0, requests).at(-1) as number))
  }

  async begin(): Promise<Base> {
    return { events: this.#places.length, lowerBound: await presentOffsets(this.store) }
  }

  async append(streams: readonly number[], waits: boolean): Promise<void> {
    const events = streams.map(() => ({ appId, tags: ['a'], payload: '1' }))
    const appended = this.store
      .append({ ...packed(events), streams: Uint32Array.from(streams) })
      .then(({ lamport }) => {
        assert.equal(lamport, this.#places.length)
        for (const stream of streams) {
          const offset = this.#ends.get(stream) ?? 0
          this.#ends.set(stream, offset + 1)
          this.#places.push([stream, offset])
        }
        this.#requestEnds.push(this.#places.length)
      })
    this.#expect(appended)
    if (waits) await appended
  }

  /** The offsets endpoint has to return a consistent snapshot, too. */
  askOffsets(): void {
    this.#expect(
      this.store.streams().then(async (streams) => {
        const events = streams.reduce((sum, { count }) => sum + count, 0)
        await until(
          () => (this.#places.length >= events ? true : undefined),
          () => `${events} events have not been acknowledged`,
        )
        assert.ok(this.#boundaries.has(events), `${events} events are not those of whole commits`)
      }),
    )
  }

  start(kind: Kind, { lowerBound }: Base): Followed {
    const request = { query: 'FROM allEvents', appId, via: 'http', lowerBound, order: 'asc', upperBound: undefined }
    const reading = this.store.start(kind, request)
    const followed: Followed = { kind, messages: [], reading, isEnded: false }
    this.#followed.push(followed)
    // An error shows as missing messages.
    collect(followed)
      .catch(() => {})
      .finally(() => {
        followed.isEnded = true
      })
    return followed
  }

  /** Waits until all appends are stored; throws the first failure. */
  async settle(): Promise<void> {
    for (const failure of await Promise.all(this.#pending.splice(0))) if (failure !== undefined) throw failure
  }

  /** Failures are thrown by `settle`. */
  #expect(work: Promise<void>): void {
    this.#pending.push(work.catch((error: unknown) => error))
  }

  /** Cancels all queries and subscriptions. */
  cancel(): void {
    for (const { reading } of this.#followed.splice(0)) reading.cancel()
  }

  /** Compares the received messages with the expected ones. */
  async check(followed: Followed, base: Base): Promise<void> {
    const { kind, messages } = followed
    // Every appended event, and the offsets.
    const expectedMessages = this.#places.length - base.events + 1
    await until(
      () => (followed.isEnded || messages.length >= expectedMessages ? true : undefined),
      () => `${kind} has sent ${messages.length} messages, the last one ${JSON.stringify(messages.at(-1))}`,
    )
    const offsetsAt = messages.findIndex(({ type }) => type === 'offsets')
    const present = Object.values(messages[offsetsAt]?.offsets ?? {}).reduce((sum, offset) => sum + offset + 1, 0)
    assert.equal(offsetsAt, present - base.events, `${kind}: all events up to its offsets come before them`)
    assert.ok(this.#boundaries.has(present), `${kind}: ${present} events are not those of whole commits`)
    const events = messages.toSpliced(offsetsAt, 1)
    const expected = this.#places.slice(base.events, kind === 'query' ? present : undefined)
    assert.deepEqual(
      events.map(({ type, lamport, stream, offset }) => [type, lamport, Number(stream?.split('-').at(-1)), offset]),
      expected.map((place, i) => ['event', base.events + i, ...place]),
    )
    if (kind !== 'subscribe_monotonic' || offsetsAt === 0) return
    assert.ok(events.slice(0, offsetsAt - 1).every(({ caughtUp }) => caughtUp === false))
    assert.equal(events[offsetsAt - 1]?.caughtUp, true)
  }
}

async function collect(followed: Followed): Promise<void> {
  let rest = ''
  for await (const piece of followed.reading) {
    const lines = (rest + piece.toString()).split('\n')
    rest = lines.pop() as string
    followed.messages.push(...lines.map((line) => JSON.parse(line) as Message))
  }
}
