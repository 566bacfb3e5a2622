import assert from 'node:assert/strict'
import type { EventStore, Reading } from '../../../src/store/port/index.ts'

/** The request of a query or subscription; omitted fields have defaults. */
export interface JobRequest {
  readonly query: string
  readonly order?: 'asc' | 'desc' | 'stream-asc'
  readonly appId?: string
  readonly via?: 'http' | 'websocket'
  readonly lowerBound?: Readonly<Record<string, number>>
  readonly upperBound?: Readonly<Record<string, number>>
}

export type JobName = 'query' | 'subscribe' | 'subscribe_monotonic'

export function startJob(store: EventStore, job: JobName, partial: JobRequest): Reading {
  const request = {
    appId: 'com.example.a',
    via: 'http',
    order: 'asc',
    lowerBound: {},
    upperBound: undefined,
    ...partial,
  }
  return store.start(job, request)
}

/** All result lines of a query. */
export async function resultLines(store: EventStore, partial: JobRequest): Promise<string[]> {
  const pieces: Buffer[] = []
  for await (const piece of startJob(store, 'query', partial)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString('utf8').split('\n').slice(0, -1)
}

/** The fields of a message that the tests check. */
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

/** The payload of an event, or the type of another message. */
export function contents({ type, payload }: Message): unknown {
  return type === 'event' ? payload : type
}

/** A subscription that is read line by line. */
export class Live {
  readonly reading: Reading
  readonly #pieces: AsyncIterator<Buffer>
  readonly #lines: string[] = []

  constructor(store: EventStore, job: JobName, partial: JobRequest) {
    this.reading = startJob(store, job, partial)
    this.#pieces = this.reading[Symbol.asyncIterator]()
  }

  /** Waits for the next lines. */
  async take(count: number): Promise<string[]> {
    while (this.#lines.length < count) assert.ok(await this.#more(), 'the subscription has ended')
    return this.#lines.splice(0, count)
  }

  /** Waits for the next lines; returns payloads or types. */
  async contents(count: number): Promise<unknown[]> {
    return messages(await this.take(count)).map(contents)
  }

  /** Like `contents`, up to a payload. */
  async contentsUpTo(payload: unknown): Promise<unknown[]> {
    const found: unknown[] = []
    do found.push(...(await this.contents(1)))
    while (found.at(-1) !== payload)
    return found
  }

  /** Waits for the next line; undefined at the end. */
  async next(): Promise<string | undefined> {
    while (this.#lines.length === 0) if (!(await this.#more())) return undefined
    return this.#lines.shift()
  }

  /** All lines up to the end. */
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
