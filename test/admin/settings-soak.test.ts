import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Random } from '../../scripts/crash/random.ts'
import { KeyPair } from '../../src/identity/index.ts'
import type { Listening } from '../../src/listening/listen.ts'
import { ask, signIn } from '../support/admin.ts'
import { temporaryFolder } from '../support/folder.ts'
import { Lines } from '../support/lines.ts'
import { json, startNode, type TestNode } from '../support/node.ts'
import { until } from '../support/process.ts'
import { testRandom } from '../support/seed.ts'

/** `npm run settings:soak` makes 1,000 changes. */
const changes = Number(process.env['SHOAL_SETTINGS_CHANGES'] ?? 25)
const defaultTopic = 'default-topic'

interface RandomChange {
  readonly method: 'PUT' | 'PATCH' | 'DELETE'
  readonly scope: string
  readonly value?: unknown
  readonly isValid?: false
}

const put = (scope: string, value: unknown): RandomChange => ({ method: 'PUT', scope, value })

/** The kinds of changes; a change of the topic is rarer, since it takes longest. */
const kinds: readonly [(random: Random) => RandomChange, ...((random: Random) => RandomChange)[]] = [
  (random) => put('/admin/displayName', `node ${random.below(1000)}`),
  (random) => put('/admin/logLevels/node', random.pick(['ERROR', 'WARN', 'INFO'])),
  (random) => put('/swarm/gossipInterval', 1 + random.below(60)),
  (random) => put('/swarm/blockCacheSize', random.below(2 ** 30)),
  (random) => put('/swarm/blockGcInterval', 30 + random.below(300)),
  (random) => put('/swarm/metricsInterval', random.below(2000)),
  (random) => put('/swarm/swarmKey', Buffer.alloc(32, random.below(256)).toString('base64')),
  (random) => put('/eventRouting/routes', [{ from: "'routed'", into: `stream-${random.below(3)}` }]),
  (random) => put('/eventRouting/streams', { 'stream-1': { maxEvents: 1_000_000 + random.below(1000) } }),
  (random) => put('/api/events/readOnly', random.chance(0.5)),
  (random) => ({ method: 'PATCH', scope: '/', value: { admin: { displayName: `merged ${random.below(9)}` } } }),
  (random) => ({ method: 'PATCH', scope: '/swarm', value: { pingTimeout: random.below(9), bitswapTimeout: null } }),
  (random) => ({
    method: 'DELETE',
    scope: random.pick(['/eventRouting', '/api', '/swarm/gossipInterval', '/licensing']),
  }),
  (random) => ({ ...put('/swarm/topic', random.pick<unknown>([7, '', 'x'.repeat(61)])), isValid: false }),
  (random) => ({ ...put('/swarm', { unknown: random.below(9) }), isValid: false }),
  () => ({ ...put('/admin', { authorizedUsers: ['x'] }), isValid: false }),
]

function randomChange(random: Random): RandomChange {
  return random.chance(0.04) ? put('/swarm/topic', random.pick([defaultTopic, 'other'])) : random.pick(kinds)(random)
}

/** Publishes one event after the other; those that were acknowledged are remembered. */
class Publishing {
  readonly acknowledged: number[] = []
  readonly #call: TestNode['call']
  #next = 0
  #isStopped = false
  readonly #done: Promise<void>

  constructor(call: TestNode['call']) {
    this.#call = call
    this.#done = this.#run()
  }

  async publish(): Promise<number> {
    const payload = this.#next++
    const body = JSON.stringify({ data: [{ tags: ['soak', ...(payload % 2 === 0 ? ['routed'] : [])], payload }] })
    const { status } = await this.#call('/api/v2/events/publish', { method: 'POST', headers: json, body })
    if (status === 200) this.acknowledged.push(payload)
    // While the topic is changed nothing is stored.
    else assert.equal(status, 503)
    return payload
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.publish()
      // Leaves processor time to the node.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/** A subscription that is read all the time. */
class Subscription {
  isOpen = true
  readonly seen = new Set<number>()

  static async open(call: TestNode['call']): Promise<Subscription> {
    const body = JSON.stringify({ query: `FROM 'soak'` })
    const subscription = new Subscription()
    void subscription.#read(new Lines(await call('/api/v2/events/subscribe', { method: 'POST', headers: json, body })))
    return subscription
  }

  async #read(lines: Lines): Promise<void> {
    try {
      for (;;) {
        const { type, payload } = JSON.parse(await lines.nextFull()) as { type?: string; payload?: number }
        if (type === 'event' && payload !== undefined) this.seen.add(payload)
      }
    } catch {
      this.isOpen = false
    }
  }

  async untilSeen(payload: number): Promise<void> {
    await until(
      () => (this.seen.has(payload) ? true : undefined),
      () => `event ${payload} has not arrived, open: ${this.isOpen}`,
    )
  }
}

async function started(t: TestContext) {
  const node = await startNode(t, join(temporaryFolder(t), 'data'))
  const [at] = node.node.addresses.admin as [Listening]
  const { token } = (await signIn(at, new KeyPair(Buffer.alloc(32, 2)))).body
  const send = ({ method, scope, value }: RandomChange, query = '') => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const body = value === undefined ? '' : JSON.stringify(value)
    return ask(at, method, `/settings?scope=${scope}${query}`, { token, body, headers: { 'content-type': type } })
  }
  const ready = () =>
    until(
      async () => ((await node.call('/readyz')).status === 200 ? true : undefined),
      () => 'the node is not ready',
    )
  return { ...node, send, ready, settings: node.node.settings }
}

test('random changes of a node under load: what is said applies, subscriptions stay, nothing is lost', async (t) => {
  const random = testRandom(t)
  const { call, send, ready, settings, payloads } = await started(t)
  const publishing = new Publishing(call)
  const storedAt = (scope: string) => settings.get(scope.slice(1).split('/'), { defaults: false })
  let subscription = await Subscription.open(call)
  let restarts = 0
  for (let i = 0; i < changes; i++) {
    const change = randomChange(random)
    const before = settings.revision
    const said = await send(change, '&dryRun=true')
    assert.equal(settings.revision, before)
    const done = await send(change)
    if (change.isValid === false) {
      assert.deepEqual([said.status, done.status, settings.revision], [422, 422, before], change.scope)
      continue
    }
    assert.deepEqual([done.status, done.body.applied], [200, said.body.applied], JSON.stringify([change, done.body]))
    if (change.method === 'PUT') assert.deepEqual(storedAt(change.scope), change.value)
    if (done.body.applied.restart.includes('/swarm/topic')) {
      restarts++
      await until(
        () => (subscription.isOpen ? undefined : true),
        () => 'the subscription to the former topic is open',
      )
      await ready()
      subscription = await Subscription.open(call)
    } else assert.ok(subscription.isOpen, JSON.stringify(change))
  }
  await publishing.stop()
  const last = await publishing.publish()
  await subscription.untilSeen(last)
  const stored: unknown[] = []
  for (const topic of [settings.document.swarm.topic === defaultTopic ? 'other' : defaultTopic, undefined]) {
    stored.push(...(await payloads('soak')))
    if (topic === undefined) continue
    await send(put('/swarm/topic', topic))
    await ready()
  }
  t.diagnostic(`${changes} changes, ${restarts} of the topic, ${publishing.acknowledged.length} events`)
  assert.deepEqual(
    publishing.acknowledged.filter((payload) => !stored.includes(payload)),
    [],
  )
  assert.equal(new Set(stored).size, stored.length)
})
