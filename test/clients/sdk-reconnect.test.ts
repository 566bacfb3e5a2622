import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Actyx, type ActyxEvent, type OffsetMap, Tags } from '@actyx/sdk'
import { until } from '../support/process.ts'
import { ClientNode } from './node.ts'
import { Collected, connected, numbers } from './sdk.ts'

const query = Tags<number>('kept')

/** Exactly-once delivery in an app: resubscribes from the last offsets whenever a subscription ends. */
class Follower {
  readonly numbers: number[] = []
  ends = 0
  readonly #actyx: Actyx
  readonly #seen: OffsetMap = {}
  #stopped = false

  constructor(t: TestContext, actyx: Actyx) {
    this.#actyx = actyx
    t.after(() => {
      this.#stopped = true
    })
    this.#subscribe()
  }

  async until(count: number): Promise<void> {
    await until(
      () => (this.numbers.length >= count ? true : undefined),
      () => `saw ${this.numbers}, after ${this.ends} ends`,
    )
  }

  #subscribe(): void {
    if (this.#stopped) return
    const onEvent = ({ meta, payload }: ActyxEvent): void => {
      this.#seen[meta.stream] = meta.offset
      this.numbers.push(payload as number)
    }
    this.#actyx.subscribe({ query, lowerBound: { ...this.#seen } }, onEvent, () => {
      this.ends++
      setTimeout(() => this.#subscribe(), 50)
    })
  }
}

/** Publishes a number exactly once: before a retry, checks whether the failed call has stored it. */
async function publishOnce(actyx: Actyx, n: number): Promise<void> {
  for (let isStored = false; !isStored; ) {
    try {
      const { events } = await actyx.queryAllKnown({ query })
      isStored = events.some(({ payload }) => payload === n)
      if (!isStored) await actyx.publish(query.apply(n))
      isStored = true
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`after ${signal} and a restart the SDK gets a new token, and no event is lost or duplicated`, async (t) => {
    const node = await ClientNode.start(t)
    const connections = new Collected<'lost' | 'established'>()
    const follower = await connected(t, node, {
      onConnectionLost: () => connections.add('lost'),
      onConnectionEstablished: () => connections.add('established'),
    })
    const publisher = await connected(t, node)
    const following = new Follower(t, follower)
    for (const n of numbers(20)) await publishOnce(publisher, n)
    await following.until(20)
    await node.stop(signal)
    // Publish while the node is down: these calls have to wait for the reconnect.
    const published = (async () => {
      for (const n of numbers(40).slice(20)) await publishOnce(publisher, n)
    })()
    await connections.until((all) => all.at(-1) === 'lost')
    await node.startAgain()
    await connections.until((all) => all.at(-1) === 'established')
    await published
    await following.until(40)
    assert.deepEqual(following.numbers, numbers(40))
    const { events } = await publisher.queryAllKnown({ query })
    assert.deepEqual(
      events.map(({ payload }) => payload),
      numbers(40),
    )
    assert.ok(following.ends > 0, 'the end of the subscription was reported to the app')
  })
}

test('when the topic of the node is changed, the SDK connects again with its token', async (t) => {
  const node = await ClientNode.start(t)
  const connections = new Collected<'lost' | 'established'>()
  const actyx = await connected(t, node, {
    onConnectionLost: () => connections.add('lost'),
    onConnectionEstablished: () => connections.add('established'),
  })
  const stored = async () => (await actyx.queryAllKnown({ query })).events.map(({ payload }) => payload)
  for (const n of numbers(5)) await publishOnce(actyx, n)
  const following = new Follower(t, actyx)
  await following.until(5)
  for (const [topic, times] of [
    ['other', 1],
    ['default-topic', 2],
  ] as const) {
    await node.changeTopic(topic)
    const count = (kind: string, all: readonly string[]) => all.filter((state) => state === kind).length
    await connections.until((all) => count('lost', all) >= times && all.at(-1) === 'established')
    await publishOnce(actyx, 100 + times)
    assert.deepEqual(await stored(), topic === 'other' ? [101] : [...numbers(5), 102])
  }
  assert.ok(following.ends > 0, 'the end of the subscription was reported to the app')
})
