import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { Random } from '../crash/random.ts'
import { anyBody } from './bodies.ts'
import { anyValue, damagedText } from './json-texts.ts'
import type { Ledger } from './ledger.ts'

const services = ['offsets', 'publish', 'query', 'subscribe', 'subscribe_monotonic', 'nonsense', ''] as const

const oddIds: readonly [unknown, ...unknown[]] = [-1, 1.5, 2 ** 64, 'x', null]

/** Request IDs that no other request uses. */
const firstMark = 1e15

interface Message {
  readonly type: string
  readonly requestId: number
  readonly payload?: readonly unknown[]
  readonly kind?: { readonly type: string }
}

/** One WebSocket session. It ends when the node closes it because of a message, or after a number of messages. */
export class SocketSession {
  readonly #random: Random
  readonly #ledger: Ledger
  readonly #socket: WebSocket
  readonly #closed: Promise<unknown>
  #wake: () => void = () => {}
  #marks = 0
  #seenMark = 0
  /** The first problem. */
  #problem: Error | undefined

  constructor(url: string, token: string, random: Random, ledger: Ledger) {
    this.#random = random
    this.#ledger = ledger
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/api/v2/events?${token}`)
    this.#closed = once(this.#socket, 'close').catch(() => {})
    this.#socket.on('error', () => {})
    this.#socket.on('message', (data) => this.#receive(String(data)))
  }

  /** Sends up to a number of messages. Returns how many were sent. */
  async run(messages: number): Promise<number> {
    await Promise.race([once(this.#socket, 'open'), this.#closed])
    let sent = 0
    while (sent < messages && this.#socket.readyState === WebSocket.OPEN) {
      this.#sendAny()
      sent++
      await this.#marked()
      if (this.#problem !== undefined) throw this.#problem
    }
    this.#socket.terminate()
    await this.#closed
    return sent
  }

  #sendAny(): void {
    const random = this.#random
    const requestId = random.chance(0.9) ? random.below(20) : random.pick(oddIds)
    const serviceId = random.pick(services)
    const payload = serviceId === 'offsets' ? null : random.chance(0.1) ? anyValue(random) : anyBody(serviceId, random)
    const message = random.chance(0.2)
      ? { type: 'cancel', requestId }
      : { type: 'request', requestId, serviceId, payload }
    const text = Buffer.from(JSON.stringify(message))
    const isDamaged = random.chance(0.2)
    this.#socket.send(isDamaged ? damagedText(text, random) : text, { binary: isDamaged && random.chance(0.1) })
  }

  /** Publishes and waits for the response. Then all earlier publish requests have been answered, too. */
  async #marked(): Promise<void> {
    const mark = ++this.#marks
    const payload = { data: [{ tags: ['mark'], payload: mark }] }
    this.#socket.send(
      JSON.stringify({ type: 'request', requestId: firstMark + mark, serviceId: 'publish', payload }),
      () => {},
    )
    const answered = new Promise<void>((resolve) => {
      this.#wake = resolve
      if (this.#seenMark >= mark) resolve()
    })
    await Promise.race([answered, this.#closed])
  }

  #receive(text: string): void {
    try {
      const { type, requestId, payload, kind } = JSON.parse(text) as Message
      if (kind?.type === 'internalError') throw new Error(`an internal error: ${text}`)
      for (const item of payload ?? []) if (isPublished(item)) this.#ledger.add(item)
      if (type !== 'complete' || requestId < firstMark) return
      this.#seenMark = requestId - firstMark
      this.#wake()
    } catch (error) {
      this.#problem ??= error instanceof Error ? error : new Error(String(error))
    }
  }
}

function isPublished(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'data' in item
}
