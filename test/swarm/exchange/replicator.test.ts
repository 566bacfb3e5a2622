import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Random } from '../../../scripts/crash/random.ts'
import { Agenda, SimClock, timersOf } from '../../../scripts/sim/agenda.ts'
import { Ledger } from '../../../scripts/sim/ledger.ts'
import { Network } from '../../../scripts/sim/network.ts'
import { signatureScheme } from '../../../scripts/sim/signatures.ts'
import { SimNode } from '../../../scripts/sim/sim-node.ts'
import { MemorySimStore } from '../../../scripts/sim/sim-store.ts'
import { Trace } from '../../../scripts/sim/trace.ts'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { PeerInput } from '../../../src/swarm/exchange/peer-input.ts'
import { keyOfNode } from '../../../src/sync/peer.ts'
import { SeededRandom } from '../../support/virtual-runtime.ts'

/** A few nodes in virtual time, without faults. */
class Swarm {
  readonly agenda = new Agenda()
  readonly network: Network
  readonly nodes: SimNode[] = []

  readonly #trace = new Trace(() => this.agenda.nowMs, false)
  readonly #scheme = signatureScheme('ed25519')

  constructor(t: TestContext) {
    const { agenda } = this
    const random = new Random(t.name)
    this.network = new Network({ agenda, random, trace: this.#trace, onSend: () => {}, onClose: () => {} })
  }

  add(key = new KeyPair(Buffer.alloc(32, this.nodes.length + 1)), seed = `${this.nodes.length}`): SimNode {
    const { agenda, network } = this
    const runtime = {
      clock: new SimClock(agenda, 1_704_067_200_000_000),
      timers: timersOf(agenda),
      random: new SeededRandom(seed),
    }
    const node = new SimNode({
      label: `n${this.nodes.length}`,
      key,
      scheme: this.#scheme,
      agenda,
      network,
      trace: this.#trace,
      ledger: new Ledger(),
      runtime,
      disk: new MemorySimStore({ key, runtime }),
      random: () => 0.5,
    })
    this.nodes.push(node)
    return node
  }

  join(a: SimNode, b: SimNode): void {
    this.network.join(a, b)
  }

  /** Runs until a condition holds, in virtual time. */
  async until(condition: () => Promise<boolean>, what: string): Promise<void> {
    for (let ms = 0; ms < 60_000; ms += 100) {
      await this.agenda.runUntil(this.agenda.nowMs + 100)
      if (await condition()) return
    }
    assert.fail(`${what}, within a minute`)
  }

  async agree(nodes: readonly SimNode[] = this.nodes): Promise<void> {
    await this.until(async () => {
      const [first, ...others] = await Promise.all(nodes.map((node) => node.headTexts()))
      return first !== undefined && first.length > 0 && others.every((texts) => texts.join() === first.join())
    }, 'the nodes agree')
  }
}

function payloads(count: number): string[] {
  return Array.from({ length: count }, (_, i) => JSON.stringify({ i, secret: `secret ${i}` }))
}

async function textOf(node: SimNode, agenda: Agenda): Promise<string> {
  const pieces: Buffer[] = []
  let isDone = false
  const reading = (async () => {
    for await (const piece of node.store.read({ anyOf: [{ tags: [] }], order: 'asc' })) pieces.push(piece)
    isDone = true
  })()
  while (!isDone) await agenda.step(agenda.nowMs + 1000)
  await reading
  return Buffer.concat(pieces).toString('utf8')
}

test('a redaction reaches every node, also one that comes later', async (t) => {
  const swarm = new Swarm(t)
  const [a, b, c] = [swarm.add(), swarm.add(), swarm.add()]
  swarm.join(a, b)
  swarm.join(b, c)
  await a.publish(0, payloads(20))
  await swarm.agree()
  await a.redact(0, [3, 4, 17])
  await swarm.agree()
  const late = swarm.add()
  swarm.join(c, late)
  await swarm.agree()
  for (const node of swarm.nodes) {
    const text = await textOf(node, swarm.agenda)
    assert.equal(text.split('\n').length - 1, 17)
    assert.doesNotMatch(text, /secret (3|4|17)"/)
  }
})

test('a newcomer starts where a stream was pruned, and the others follow', async (t) => {
  const swarm = new Swarm(t)
  const [a, b] = [swarm.add(), swarm.add()]
  swarm.join(a, b)
  for (let i = 0; i < 20; i++) await a.publish(0, payloads(128))
  await swarm.agree()
  await a.prune(0, 1024)
  await swarm.agree()
  const late = swarm.add()
  swarm.join(b, late)
  await swarm.agree()
  const [row] = await late.store.heads()
  assert.deepEqual([row?.pruned, row?.count], [1024, 2560])
  assert.equal(await textOf(late, swarm.agenda), await textOf(a, swarm.agenda))
})

test('a node that was away while a stream was pruned goes on from there', async (t) => {
  const swarm = new Swarm(t)
  const [a, b] = [swarm.add(), swarm.add()]
  swarm.join(a, b)
  await a.publish(0, payloads(10))
  await swarm.agree()
  swarm.network.partition(() => false)
  for (let i = 0; i < 20; i++) await a.publish(0, payloads(128))
  await a.prune(0, 2058)
  swarm.network.partition(() => true)
  await swarm.agree()
  assert.equal(await textOf(b, swarm.agenda), await textOf(a, swarm.agenda))
})

for (const [name, common] of [
  ['from the start', 0],
  ['after several checkpoints', 3000],
] as const)
  test(`a stream that is forked ${name} is frozen on every node, and the others go on`, async (t) => {
    const swarm = new Swarm(t)
    const key = new KeyPair(Buffer.alloc(32, 77))
    // Two nodes with the same key are what a copied data folder makes. With the same random numbers they start equal.
    const [one, two, a, b] = [swarm.add(key, 'copied'), swarm.add(key, 'copied'), swarm.add(), swarm.add()]
    if (common > 0) for (const node of [one, two]) await node.publish(0, payloads(common))
    assert.deepEqual(await one.headTexts(), await two.headTexts())
    await one.publish(0, payloads(3))
    await two.publish(0, ['"other"', '"branch"'])
    swarm.join(one, a)
    swarm.join(two, b)
    await swarm.until(
      async () => (await a.headTexts()).length > 0 && (await b.headTexts()).length > 0,
      'both have events',
    )
    swarm.join(a, b)
    await a.publish(0, payloads(2))
    await swarm.until(async () => {
      const texts = await Promise.all([a, b].map((node) => node.headTexts()))
      return texts.every((lines) => lines.some((line) => line.endsWith('frozen')) && lines.length === 2)
    }, 'the fork is known')
    const late = swarm.add()
    swarm.join(a, late)
    await swarm.agree([a, b, late])
  })

test('a node with an older copy of its store fetches its own events before it publishes', async (t) => {
  const swarm = new Swarm(t)
  const [a, b] = [swarm.add(), swarm.add()]
  swarm.join(a, b)
  await a.restart()
  await a.publish(0, payloads(3))
  a.disk.copy()
  await a.publish(0, payloads(2))
  await swarm.agree()
  await a.restart(() => a.disk.restore({ isSameFile: false }))
  assert.equal((await a.store.streams())[0]?.count, 3)
  const published = a.publish(0, ['"after the restart"'])
  await swarm.until(async () => (await b.store.streams())[0]?.count === 6, 'the new event comes after the old ones')
  await published
  await swarm.agree()
  assert.equal(await b.store.evidence(0), undefined)
})

test('without a peer a node waits only for a while', async (t) => {
  const swarm = new Swarm(t)
  const a = swarm.add()
  await a.restart()
  await a.publish(0, payloads(3))
  a.disk.copy()
  await a.restart(() => a.disk.restore({ isCleanStop: false }))
  let isPublished = false
  const published = a.publish(0, ['"alone"']).then(() => {
    isPublished = true
  })
  await swarm.agenda.runUntil(swarm.agenda.nowMs + limits.ownPeerMs - 1)
  assert.equal(isPublished, false)
  await swarm.until(async () => isPublished, 'it publishes')
  await published
})

test('a peer that has nothing of a node does not make it sure of its own streams', async (t) => {
  const swarm = new Swarm(t)
  const [a, newcomer, c] = [swarm.add(), swarm.add(), swarm.add()]
  swarm.join(a, c)
  await a.restart()
  await a.publish(0, payloads(3))
  a.disk.copy()
  await a.publish(0, payloads(2))
  await swarm.agree([a, c])
  swarm.network.leave(c.name)
  await a.restart(() => a.disk.restore({ isSameFile: false }))
  swarm.join(a, newcomer)
  let isPublished = false
  const published = a.publish(0, ['"after the restart"']).then(() => {
    isPublished = true
  })
  await swarm.agenda.runUntil(swarm.agenda.nowMs + limits.ownPeerMs)
  assert.equal(isPublished, false)
  swarm.join(a, c)
  await swarm.until(async () => isPublished, 'it publishes')
  await published
  await swarm.agree()
  assert.deepEqual(
    (await c.store.heads()).map(({ count, frozen }) => [count, frozen]),
    [[6, false]],
  )
})

test('heads of other nodes are not taken for those of own streams', async (t) => {
  const swarm = new Swarm(t)
  const [a, b] = [swarm.add(), swarm.add()]
  await a.publish(0, payloads(1))
  await b.publish(0, payloads(1))
  const input = new PeerInput(a.store)
  const head = async (node: SimNode): Promise<Uint8Array> => (await node.store.heads())[0]?.head as Uint8Array
  const own = keyOfNode(a.name)
  assert.deepEqual(await input.compareOwn([await head(a)], own), [{ stream: 0, count: 1, is: 'equal' }])
  assert.equal(await input.compareOwn([await head(a), await head(b)], own), undefined)
})
