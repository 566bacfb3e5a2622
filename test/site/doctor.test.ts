import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { gatherFacts } from '../../src/cli/doctor/gather.ts'
import { findingsOf } from '../../src/cli/doctor/report.ts'
import { KeyPair, peerIdOf } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { addressOf, eventually, newSwarmKey, ownSwarm, TestSite, untilConnected } from './swarm-of.ts'

/** A process whose wall clock is ahead by two minutes. */
const aheadClock = 'data:text/javascript,Date.now=(now=>()=>now()+120000)(Date.now)'

test('doctor finds what keeps a node apart from others', async (t) => {
  const machines = new TestSite(t, 4)
  const swarmKey = newSwarmKey()
  const [otherKey, otherTopic, ahead] = await Promise.all([
    machines.node(1, { settings: ownSwarm() }).start(),
    machines.node(2, { settings: { ...ownSwarm([], swarmKey), '/swarm/topic': 'other' } }).start(),
    machines.node(3, { settings: ownSwarm([], swarmKey), env: { NODE_OPTIONS: `--import=${aheadClock}` } }).start(),
  ])
  const missing = (seed: number, address: string): string =>
    `${address}/p2p/${peerIdOf(new KeyPair(Buffer.alloc(32, seed)).publicKey)}`
  machines.site.dropInbound(machines.site.machine(3), 4002)
  const initialPeers = [
    addressOf(otherKey),
    addressOf(otherTopic),
    addressOf(ahead),
    missing(1, '/ip4/10.77.0.2/tcp/4002'),
    missing(2, '/ip4/10.77.0.4/tcp/4002'),
    missing(3, '/ip4/192.0.2.1/tcp/4001'),
  ]
  const node = await machines.node(0, { settings: ownSwarm(initialPeers, swarmKey) }).start()
  await untilConnected(node, 1)
  const expected: readonly (readonly [Finding['check'], RegExp])[] = [
    ['swarm key', /10\.77\.0\.2\/tcp\/4001 .*another swarm key/],
    ['topic', /10\.77\.0\.3\/tcp\/4001 .*in the topic 'other', this node in 'default-topic'/],
    ['clock', /The clock of the node \S+ is 1(19|20)\.\d s ahead of that of this node/],
    ['peers', /10\.77\.0\.2\/tcp\/4002 .*connection refused/],
    ['peers', /10\.77\.0\.4\/tcp\/4002 .*no answer within the time-out/],
    ['peers', /192\.0\.2\.1\/tcp\/4001 .*no route/],
  ]
  let found: readonly Finding[] = []
  await eventually(
    async () => {
      const none = { api: [], admin: [], swarm: [] }
      found = findingsOf(await gatherFacts({ folder: node.folder }, none, systemRuntime))
      const has = ([check, text]: (typeof expected)[number]): boolean =>
        found.some((one) => one.check === check && text.test(one.problem) && one.severity === 'error')
      return expected.every(has) ? true : undefined
    },
    () => JSON.stringify(found, undefined, 2),
  )
  const errors = found.filter(({ severity }) => severity === 'error')
  assert.equal(errors.length, expected.length, JSON.stringify(errors))
})
