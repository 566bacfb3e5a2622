import assert from 'node:assert/strict'
import type { EventStore, Reading } from '../../../src/store/port/index.ts'

/** What a query or a subscription is asked with; the rest has a default. */
export interface Asked {
  readonly query: string
  readonly order?: 'asc' | 'desc' | 'stream-asc'
  readonly appId?: string
  readonly via?: 'http' | 'websocket'
  readonly lowerBound?: Readonly<Record<string, number>>
  readonly upperBound?: Readonly<Record<string, number>>
}

export type JobName = 'query' | 'subscribe' | 'subscribe_monotonic'

export function startJob(store: EventStore, job: JobName, asked: Asked): Reading {
  const request = { appId: 'com.example.a', via: 'http', order: 'asc', lowerBound: {}, upperBound: undefined, ...asked }
  return store.start(job, request)
}

/** All lines that a query answers with. */
export async function answerOf(store: EventStore, asked: Asked): Promise<string[]> {
  const pieces: Buffer[] = []
  for await (const piece of startJob(store, 'query', asked)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString('utf8').split('\n').slice(0, -1)
}

/** One message of a query or a subscription, as far as tests look at it. */
export interface Message {
  readonly type: string
  readonly payload?: unknown
  readonly offsets?: Readonly<Record<string, number>>
  readonly caughtUp?: boolean
  readonly newStart?: { readonly lamport: number; readonly stream: string; readonly offset: number }
}

export function messages(lines: readonly string[]): Message[] {
  return lines.map((line) => JSON.parse(line) as Message)
}

/** The payload of an event; the type of any other message. */
export function said({ type, payload }: Message): unknown {
  return type === 'event' ? payload : type
}

/** A subscription whose lines are taken one by one. */
export class Live {
  readonly reading: Reading
  readonly #pieces: AsyncIterator<Buffer>
  readonly #lines: string[] = []

  constructor(store: EventStore, job: JobName, asked: Asked) {
    this.reading = startJob(store, job, asked)
    this.#pieces = this.reading[Symbol.asyncIterator]()
  }

  /** The next lines, waited for. */
  async take(count: number): Promise<string[]> {
    while (this.#lines.length < count) assert.ok(await this.#more(), 'the subscription has ended')
    return this.#lines.splice(0, count)
  }

  /** What the next lines say. */
  async said(count: number): Promise<unknown[]> {
    return messages(await this.take(count)).map(said)
  }

  /** What is said up to a payload, which is waited for. */
  async saidUpTo(payload: unknown): Promise<unknown[]> {
    const found: unknown[] = []
    do found.push(...(await this.said(1)))
    while (found.at(-1) !== payload)
    return found
  }

  /** The next line, waited for; nothing at the end. */
  async next(): Promise<string | undefined> {
    while (this.#lines.length === 0) if (!(await this.#more())) return undefined
    return this.#lines.shift()
  }

  /** Everything up to the end. */
  async rest(): Promise<string[]> {
    while (await this.#more());
    return this.#lines.splice(0)
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#pieces.next()
    if (done === true) return false
    this.#lines.push(...value.toString('utf8').split('\n').slice(0, -1))
    return true
  }
}
