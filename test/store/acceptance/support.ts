import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ShoalError } from '../../../src/base/errors.ts'
import { formatStreamId, type KeyPair, nodeIdOf } from '../../../src/identity/index.ts'
import { MalformedBytes, type TopicKind } from '../../../src/protocol/index.ts'
import { readChunk } from '../../../src/replication/index.ts'
import type { AppendRequest, EventStore, Order, Selection, StreamStatus } from '../../../src/store/port/index.ts'
import { packed } from '../../support/events.ts'

export interface OpenOptions {
  readonly topic?: string
  readonly kind?: TopicKind
  readonly key?: KeyPair
  /** Whether it is a restored backup of a new store, so that its start is doubtful. */
  readonly restored?: boolean
  /** Whether it has to run queries: the reader thread then takes longer to start. */
  readonly queries?: boolean
}

/** Opens a new store of the tested implementation on the wall clock. It is closed after the test. */
export type OpenStore<Store = EventStore> = (test: TestContext, options?: OpenOptions) => Promise<Store>

/** A rule that every implementation has to follow. */
export interface Rule<Store = EventStore> {
  readonly name: string
  /** Whether the rule needs enough events that some can be sealed. */
  readonly large: boolean
  readonly check: (test: TestContext, open: OpenStore<Store>) => Promise<void>
}

type Declare<Store> = (name: string, check: Rule<Store>['check']) => void

export function rules<Store = EventStore>(
  declare: (by: { small: Declare<Store>; large: Declare<Store> }) => void,
): readonly Rule<Store>[] {
  const found: Rule<Store>[] = []
  declare({
    small: (name, check) => void found.push({ name, check, large: false }),
    large: (name, check) => void found.push({ name, check, large: true }),
  })
  return found
}

/** The error for invalid input. */
export const refused = (error: unknown): boolean => error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT'
/** The error for bytes that no honest node has sent. */
export const isMalformed = (error: unknown): boolean => error instanceof MalformedBytes

export interface TestEvent {
  readonly stream?: number
  readonly appId?: string
  readonly tags?: readonly string[]
  readonly payload?: string
}

export function requestOf(events: readonly TestEvent[]): AppendRequest {
  const full = events.map(({ appId = 'com.example.a', tags = [], payload = 'null' }) => ({ appId, tags, payload }))
  return { ...packed(full), streams: Uint32Array.from(events, ({ stream = 0 }) => stream) }
}

/** Events with numbers as payloads, and with tags that many, few or single events have. */
export function numbered(count: number, from = 0, stream = 0): TestEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    stream,
    appId: (from + i) % 3 === 0 ? 'com.example.b' : 'com.example.a',
    tags: ['all', `of7:${(from + i) % 7}`, `id:${from + i}`],
    payload: `{"n":${from + i}}`,
  }))
}

/** One event as read from a store. */
export interface Line {
  readonly type: string
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly timestamp: number
  readonly tags: readonly string[]
  readonly appId: string
  readonly payload: unknown
  /** The whole line. */
  readonly text: string
}

export const everything = { anyOf: [{ tags: [] }], order: 'asc' } as const satisfies Selection

export async function textOf(store: EventStore, selection: Selection = everything): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of store.read(selection)) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

export function parsed(text: string): Line[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((text) => ({ ...(JSON.parse(text) as Omit<Line, 'text'>), text }))
}

export async function linesOf(store: EventStore, selection: Selection = everything): Promise<Line[]> {
  return parsed(await textOf(store, selection))
}

/** Compares the texts of lines, which is faster than comparing fields. */
export function assertSame(actual: readonly Line[], expected: readonly Line[], message?: string): void {
  const texts = (lines: readonly Line[]) => lines.map(({ text }) => text)
  assert.deepEqual(texts(actual), texts(expected), message)
}

/** The numbers in the payloads of `numbered`. */
export async function numbersOf(store: EventStore, selection: Selection = everything): Promise<number[]> {
  return (await linesOf(store, selection)).map(({ payload }) => (payload as { n: number }).n)
}

export function idOf(key: KeyPair, number = 0): string {
  return formatStreamId({ node: nodeIdOf(key.publicKey), number: BigInt(number) })
}

/** The status of a stream, by its ID. */
export async function streamOf(store: EventStore, id: string): Promise<StreamStatus> {
  const found = (await store.streams()).find((stream) => nameOf(stream) === id)
  assert.ok(found !== undefined, `there is no stream ${id}`)
  return found
}

export function nameOf({ key }: StreamStatus): string {
  return formatStreamId({ node: nodeIdOf(key.node), number: BigInt(key.number) })
}

/** The observable state of a store, which a refused call must not change. */
async function stateOf(store: EventStore): Promise<unknown> {
  const streams = await Promise.all(
    (await store.streams()).map(async (stream) => ({
      name: nameOf(stream),
      numbers: [stream.number, stream.count, stream.pruned],
      checkpoints: (await store.checkpoints(stream.number)).map(({ count, head }) => [count, hex(head)]),
      head: stream.own ? undefined : hex(await store.head(stream.number)),
    })),
  )
  return { streams, text: await textOf(store) }
}

export async function unchanged(store: EventStore, work: () => Promise<unknown>): Promise<void> {
  const before = await stateOf(store)
  await work()
  assert.deepEqual(await stateOf(store), before)
}

export function hex(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('hex')
}

/** The chunks of a stream from its start, or from its pruned offset. */
export async function chunksOf(store: EventStore, stream = 0): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  const status = (await store.streams())[stream]
  for (let from = status?.pruned ?? 0; ; ) {
    const chunk = await store.chunk(stream, from)
    if (chunk === undefined) return chunks
    chunks.push(chunk)
    from = readChunk(chunk).head.count
  }
}

/** The signed head at the end of a chunk: the one before the next chunk. */
export function endOf(chunk: Uint8Array | undefined): Uint8Array {
  return readChunk(chunk as Uint8Array).signedHead
}

/** Replicates all chunks of all streams to another store. */
export async function replicate(from: EventStore, to: EventStore): Promise<void> {
  for (const { number } of await from.streams())
    for (const chunk of await chunksOf(from, number)) await to.receive(chunk)
}

export async function checkpointCounts(store: EventStore, stream = 0): Promise<number[]> {
  return (await store.checkpoints(stream)).map(({ count }) => count)
}

export const orders: readonly Order[] = ['asc', 'desc', 'stream-asc']

/** The numbers from one to another, which is excluded. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

/** A read whose first piece was consumed. */
export class StartedRead {
  readonly #pieces: AsyncIterator<Buffer>
  readonly #taken: Buffer[] = []

  private constructor(pieces: AsyncIterator<Buffer>) {
    this.#pieces = pieces
  }

  static async read(store: EventStore, selection: Selection): Promise<StartedRead> {
    const started = new StartedRead(store.read(selection)[Symbol.asyncIterator]())
    await started.#next()
    return started
  }

  /** Reads to the end. Returns all lines. */
  async rest(): Promise<Line[]> {
    while (await this.#next());
    return parsed(Buffer.concat(this.#taken).toString('utf8'))
  }

  async #next(): Promise<boolean> {
    const { done, value } = await this.#pieces.next()
    if (done !== true) this.#taken.push(value)
    return done !== true
  }
}
