import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Latencies } from '../load/latencies.ts'
import type { BystanderTask, Timing } from './bystander-report.ts'

/** Time within which a retry after a 503 has to succeed, in milliseconds. */
export const retryMs = 5000
/** Request timeout in milliseconds. */
const answerMs = 30_000

interface Answered {
  readonly status: number
  readonly text: string
}

/** Sends one kind of request in a loop, over its own keep-alive connection. */
export class RepeatedRequest {
  readonly #task: BystanderTask
  readonly #endpoint: string
  readonly #body: () => unknown
  readonly #succeeded: () => void
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #latencies = new Latencies()
  #count = 0
  /** When the pending request was sent. */
  #started: number | undefined
  recovered = 0
  unrecovered = 0
  readonly errors: string[] = []

  constructor(task: BystanderTask, endpoint: string, body: () => unknown, succeeded: () => void = () => {}) {
    this.#task = task
    this.#endpoint = endpoint
    this.#body = body
    this.#succeeded = succeeded
  }

  /** Resets the recorded latencies. */
  begin(): void {
    this.#latencies = new Latencies()
    this.#count = 0
  }

  /** The recorded latencies; the pending request counts with its time so far. */
  timing(): Timing {
    if (this.#started !== undefined) this.#add(this.#started)
    return { count: this.#count, p50: this.#latencies.within(0.5), p99: this.#latencies.within(0.99) }
  }

  /** Runs until it is stopped and the last response has arrived. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.once()
      await delay(this.#task.pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** One request, with retries on 503. Records errors. Returns whether it succeeded. */
  async once(): Promise<boolean> {
    const started = performance.now()
    this.#started = started
    const body = Buffer.from(JSON.stringify(this.#body()))
    try {
      for (let tries = 1; ; tries++) {
        const { status, text } = await this.#send(body)
        if (status === 200 && !text.includes('"code":"ERR_')) {
          if (tries > 1) this.recovered++
          this.#succeeded()
          return true
        }
        if (status !== 503) throw new Error(`${status} ${text.trim().slice(-300)}`)
        if (performance.now() - started > retryMs) {
          this.unrecovered++
          return false
        }
        await delay(100)
      }
    } catch (error) {
      this.errors.push(`${this.#endpoint}: ${error instanceof Error ? error.message : String(error)}`)
      return false
    } finally {
      this.#started = undefined
      this.#add(started)
    }
  }

  #add(started: number): void {
    this.#latencies.add(performance.now() - started)
    this.#count++
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(bytes: Buffer): Promise<Answered> {
    const headers = {
      authorization: `Bearer ${this.#task.token}`,
      'content-type': 'application/json',
      'content-length': bytes.length,
    }
    const url = `${this.#task.url}/api/v2/events/${this.#endpoint}`
    return new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, agent: this.#agent }, (answer) =>
        textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject),
      )
      sent.on('error', reject)
      sent.setTimeout(answerMs, () => sent.destroy(new Error(`no answer within ${answerMs / 1000} s`)))
      sent.end(bytes)
    })
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of answer.setEncoding('utf8')) text += part
  return text
}
