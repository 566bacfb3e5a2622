// A well-behaved client, in its own process: the attacker's event loop must not distort its latencies. It publishes and
// queries in a loop and keeps one subscription open, until it is stopped.
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { RepeatedRequest, retryMs } from './bystander-client.ts'
import type { BystanderReport, BystanderTask, FromBystander, ToBystander } from './bystander-report.ts'

/** A unique tag: earlier bystanders used the same node. */
const tag = `bystander:${process.pid}`

/** A subscription that has to receive every published event in order, and must never end. */
class Subscription {
  readonly #socket: WebSocket
  #problem: string | undefined
  /** The number of the last received event. */
  last = 0

  constructor({ url, token }: BystanderTask) {
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/api/v2/events?${token}`)
    this.#socket.on('open', () => {
      const payload = { query: `FROM '${tag}' SELECT _.n` }
      this.#socket.send(JSON.stringify({ type: 'request', requestId: 1, serviceId: 'subscribe', payload }))
    })
    this.#socket.on('message', (data) => this.#receive(String(data)))
    this.#socket.on('close', (code) => this.#fail(`closed with the code ${code}`))
    this.#socket.on('error', (error) => this.#fail(error.message))
  }

  get problem(): string | undefined {
    return this.#problem
  }

  close(): void {
    this.#socket.terminate()
  }

  #fail(problem: string): void {
    this.#problem ??= problem
  }

  #receive(text: string): void {
    const { type, payload = [] } = JSON.parse(text) as { type: string; payload?: { type: string; payload: number }[] }
    if (type !== 'next') this.#fail(`it ended: ${text.slice(0, 300)}`)
    for (const item of payload) {
      if (item.type !== 'event') continue
      if (item.payload <= this.last) this.#fail(`the event ${item.payload} came after ${this.last}`)
      this.last = item.payload
    }
  }
}

class Bystander {
  readonly #subscription: Subscription
  readonly #publish: RepeatedRequest
  readonly #query: RepeatedRequest
  readonly #emptyQuery: RepeatedRequest
  readonly #queries: boolean
  /** The number of the last published event. */
  #last = 0

  constructor(task: BystanderTask) {
    this.#queries = task.queries
    this.#subscription = new Subscription(task)
    let next = 0
    const event = () => ({ data: [{ tags: [tag], payload: { n: ++next } }] })
    this.#publish = new RepeatedRequest(task, 'publish', event, () => {
      this.#last = next
    })
    const query = (text: string, order: string) => new RepeatedRequest(task, 'query', () => ({ query: text, order }))
    this.#query = query(`FROM '${tag}' LIMIT 1`, 'desc')
    this.#emptyQuery = query("FROM 'no-such-tag'", 'asc')
  }

  get #requests(): RepeatedRequest[] {
    return this.#queries ? [this.#publish, this.#query, this.#emptyQuery] : [this.#publish]
  }

  /** Resolved when all connections are open and each kind of request has succeeded once. */
  async prepare(): Promise<void> {
    for (const request of this.#requests)
      if (!(await request.once())) throw new Error(`the bystander cannot begin: ${request.errors.join()}`)
    if (!(await this.#isServed())) throw new Error(`the bystander has no subscription: ${this.#subscription.problem}`)
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const request of this.#requests) request.begin()
    await Promise.all(this.#requests.map((request) => request.run(signal)))
  }

  /** Whether everything works after the attack. */
  async afterwards(): Promise<string | undefined> {
    for (const request of this.#requests)
      if (!(await request.once())) return request.errors.at(-1) ?? 'still refused with 503 after five seconds'
    return undefined
  }

  /** What the subscription misses; undefined if it receives the last event in time. */
  async subscriptionProblem(): Promise<string | undefined> {
    if (await this.#isServed()) return undefined
    return this.#subscription.problem ?? `got events up to ${this.#subscription.last} of ${this.#last} only`
  }

  report(problems: Pick<BystanderReport, 'subscriptionProblem' | 'afterwardsProblem'>): BystanderReport {
    const requests = this.#requests
    return {
      publish: this.#publish.timing(),
      query: this.#query.timing(),
      emptyQuery: this.#emptyQuery.timing(),
      recovered: requests.reduce((sum, { recovered }) => sum + recovered, 0),
      unrecovered: requests.reduce((sum, { unrecovered }) => sum + unrecovered, 0),
      errors: requests.flatMap(({ errors }) => errors),
      ...problems,
    }
  }

  close(): void {
    this.#subscription.close()
    for (const request of [this.#publish, this.#query, this.#emptyQuery]) request.close()
  }

  async #isServed(): Promise<boolean> {
    const isThere = (): boolean => this.#subscription.problem === undefined && this.#subscription.last >= this.#last
    for (let waited = 0; waited < retryMs && !isThere() && this.#subscription.problem === undefined; waited += 20)
      await delay(20)
    return isThere()
  }
}

function tell(message: FromBystander): void {
  process.send?.(message)
}

/** Timeout for the last responses, in milliseconds. */
const graceMs = retryMs

async function attend(task: BystanderTask, end: AbortSignal): Promise<void> {
  const bystander = new Bystander(task)
  await bystander.prepare()
  tell({ type: 'ready' })
  const running = bystander.run(end).then(() => true)
  await new Promise((resolve) => end.addEventListener('abort', resolve, { once: true }))
  const isAnswered = await Promise.race([running, delay(graceMs, false)])
  const late = 'a request was not answered within five seconds'
  const afterwardsProblem = isAnswered ? await Promise.race([bystander.afterwards(), delay(graceMs, late)]) : late
  const subscriptionProblem = await bystander.subscriptionProblem()
  tell({ type: 'report', report: bystander.report({ afterwardsProblem, subscriptionProblem }) })
  bystander.close()
}

const end = new AbortController()
process.on('message', (message: ToBystander) => {
  if (message.type === 'end') end.abort()
  else
    attend(message.task, end.signal).then(
      () => process.disconnect(),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
})
// The parent process has ended.
process.on('disconnect', () => process.exit())
