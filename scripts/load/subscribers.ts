// Subscribers in a thread of their own, so that they do not distort the measured publish latencies.
import type { IncomingMessage } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { post, type Target } from './target.ts'

export interface SubscribersData {
  readonly target: Target
  readonly tag: string
  /** The number of subscribers that read, and that do not. */
  readonly reading: number
  readonly idle: number
  /** The number of events that each has to receive. */
  readonly count: number
}

export type FromSubscribers = 'ready' | 'done' | { readonly problem: string }

const { target, tag, reading, idle, count } = workerData as SubscribersData

interface Line {
  readonly type: string
  readonly offset?: number
  readonly payload?: { readonly n: number }
}

/** Checks that a subscriber receives every event exactly once, in storage order. */
class Received {
  readonly #numbers = new Set<number>()
  #offset = -1

  get isWhole(): boolean {
    return this.#numbers.size === count
  }

  add({ type, offset = this.#offset + 1, payload }: Line): void {
    if (type !== 'event' || payload === undefined) return
    if (offset <= this.#offset) throw new Error(`after the offset ${this.#offset} came ${offset}`)
    if (this.#numbers.has(payload.n)) throw new Error(`${payload.n} came twice`)
    this.#offset = offset
    this.#numbers.add(payload.n)
  }
}

/** Reads a subscription until it has received everything. */
async function readAll(answer: IncomingMessage): Promise<void> {
  const received = new Received()
  let rest = ''
  for await (const text of answer.setEncoding('utf8')) {
    const lines = (rest + (text as string)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') received.add(JSON.parse(line) as Line)
    if (received.isWhole) return
  }
  throw new Error('a subscription has ended too early')
}

const subscribe = () => post(target, 'subscribe', { query: `FROM '${tag}'` })
const readers = await Promise.all(Array.from({ length: reading }, subscribe))
// Subscribers that never read only hold their connections.
const sleepers = await Promise.all(Array.from({ length: idle }, subscribe))
parentPort?.postMessage('ready' satisfies FromSubscribers)
try {
  await Promise.all(readers.map(readAll))
  parentPort?.postMessage('done' satisfies FromSubscribers)
} catch (error) {
  parentPort?.postMessage({ problem: String(error) } satisfies FromSubscribers)
}
for (const answer of [...readers, ...sleepers]) answer.destroy()
