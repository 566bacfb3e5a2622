import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { control } from '../../support/control.ts'
import { Lines } from '../../support/lines.ts'
import { json, type TestNode } from '../../support/node.ts'
import { until } from '../../support/process.ts'
import { TestSocket } from '../../support/socket.ts'

/** The changes of the topic that were said before: only during one of them requests may be refused. */
export class Outages {
  announced = 0
  isOver = true

  begin(): void {
    this.announced++
    this.isOver = false
  }
}

interface Published {
  readonly status: number
  /** The stream of the event. */
  readonly stream?: string
}

export type Publish = (event: { readonly tags: readonly string[]; readonly payload: string }) => Promise<Published>

export function overApi({ call }: TestNode): Publish {
  return async (event) => {
    const body = JSON.stringify({ data: [event] })
    const response = await call('/api/v2/events/publish', { method: 'POST', headers: json, body })
    const { data } = (await response.json()) as { data?: readonly [{ stream: string }] }
    return { status: response.status, ...(data && { stream: data[0].stream }) }
  }
}

export function overControlSocket({ node }: TestNode): Publish {
  return async (event) => {
    const body = JSON.stringify({ data: [event] })
    const { status, body: answer } = await control(node.folder, 'POST', '/events/publish', { body })
    return { status, stream: answer.data?.[0].stream }
  }
}

/** Publishes one event after the other, each with a payload of its own; every other one is routed. */
export class Publisher {
  /** The payloads of the events that were acknowledged. */
  readonly acknowledged: string[] = []
  refused = 0
  readonly #name: string
  readonly #publish: Publish
  readonly #outages: Outages
  #next = 0
  #isStopped = false
  readonly #done: Promise<void>

  constructor(name: string, publish: Publish, outages = new Outages()) {
    this.#name = name
    this.#publish = publish
    this.#outages = outages
    this.#done = this.#run()
    // It is thrown by `stop`.
    this.#done.catch(() => {})
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const outages = this.#outages
      const { announced, isOver } = outages
      const number = this.#next++
      const payload = `${this.#name} ${number}`
      const tags = number % 2 === 0 ? ['soak', 'routed'] : ['soak']
      const { status } = await this.#publish({ tags, payload })
      if (status === 200) this.acknowledged.push(payload)
      else {
        assert.equal(status, 503)
        assert.ok(!isOver || outages.announced > announced, `${payload} was refused, which was not said before`)
        this.refused++
      }
      // Leaves processor time to the nodes.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** A subscription that is read all the time. */
export interface Subscription {
  readonly name: string
  readonly isOpen: boolean
  readonly seen: ReadonlySet<string>
  /** Whether it was ended as for a change of the topic. */
  readonly isEndedByChange: boolean
}

/** Over HTTP. */
export async function subscribe({ call }: TestNode, tag: string): Promise<Subscription> {
  const body = JSON.stringify({ query: `FROM '${tag}'` })
  const lines = new Lines(await call('/api/v2/events/subscribe', { method: 'POST', headers: json, body }))
  const seen = new Set<string>()
  const subscription = { name: `the subscription to '${tag}'`, isOpen: true, isEndedByChange: false, seen }
  const read = async (): Promise<void> => {
    for (;;) {
      const { type, payload, code } = JSON.parse(await lines.nextFull())
      if (type === 'event') seen.add(payload)
      if (code === 'ERR_SHUTTING_DOWN') subscription.isEndedByChange = true
    }
  }
  read().catch(() => {
    subscription.isOpen = false
  })
  return subscription
}

/** Over a WebSocket. */
export async function subscribeSocket(t: TestContext, node: TestNode, tag: string): Promise<Subscription> {
  const socket = await TestSocket.open(t, node)
  const seen = new Set<string>()
  const subscription = { name: `the WebSocket to '${tag}'`, isOpen: true, isEndedByChange: false, seen }
  socket.socket.on('message', (data) => {
    for (const { type, payload } of JSON.parse(String(data)).payload ?? []) if (type === 'event') seen.add(payload)
  })
  void socket.closed.then((code) => {
    subscription.isOpen = false
    subscription.isEndedByChange = code === 1012
  })
  socket.request(1, 'subscribe', { query: `FROM '${tag}'` })
  return subscription
}

/** Waits until subscriptions have an event. */
export async function untilSeen(subscriptions: readonly Subscription[], payload: string): Promise<void> {
  for (const subscription of subscriptions)
    await until(
      () => (subscription.seen.has(payload) ? true : undefined),
      () => `${payload} has not reached ${subscription.name}`,
      () => !subscription.isOpen,
    )
}
