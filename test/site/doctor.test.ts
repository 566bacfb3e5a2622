import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import type { Machine } from '../../scripts/site/site.ts'
import { KeyPair, peerIdOf } from '../../src/identity/index.ts'
import { assertFinds, type ExpectedFinding } from '../support/doctor.ts'
import type { Ended } from '../support/process.ts'
import { addressOf, newSwarmKey, ownSwarm, TestSite } from './swarm-of.ts'

/** A process whose wall clock is ahead by two minutes. */
const aheadClock = 'data:text/javascript,Date.now=(now=>()=>now()+120000)(Date.now)'

/** Runs `shoal doctor` on a machine. */
function doctorOn({ name }: Machine, folder: string, options: readonly string[]): Promise<Ended> {
  const args = ['netns', 'exec', name, process.execPath, shoalCommand, 'doctor', folder, ...options]
  return new Promise((resolve, reject) => {
    execFile('ip', args, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ code: error === null ? 0 : Number(error.code), signal: null, stdout, stderr })
    })
  })
}

// Faults for which one machine is enough are made one by one in test/cli/doctor/faults.test.ts.
test('doctor finds what keeps a node apart from others, faults of the network alone and all faults together', async (t) => {
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
  const faults: readonly (readonly [name: string, initialPeer: string, ...ExpectedFinding])[] = [
    ['another swarm key', addressOf(otherKey), 'swarm key', 'error', /10\.77\.0\.2\/tcp\/4001 .*another swarm key/],
    [
      'another topic',
      addressOf(otherTopic),
      'topic',
      'error',
      /10\.77\.0\.3\/tcp\/4001 .*in the topic 'other', this node in 'default-topic'/,
    ],
    [
      'a clock that is off',
      addressOf(ahead),
      'clock',
      'error',
      /The clock of the node \S+ is 1(19|20)\.\d s ahead of that of this node/,
    ],
    [
      'an initial peer that is not there',
      missing(1, '/ip4/10.77.0.2/tcp/4002'),
      'peers',
      'error',
      /10\.77\.0\.2\/tcp\/4002 .*connection refused/,
    ],
    [
      'a firewall that drops packets',
      missing(2, '/ip4/10.77.0.4/tcp/4002'),
      'peers',
      'error',
      /10\.77\.0\.4\/tcp\/4002 .*no answer within the time-out/,
    ],
    ['no route', missing(3, '/ip4/192.0.2.1/tcp/4001'), 'peers', 'error', /192\.0\.2\.1\/tcp\/4001 .*no route/],
  ]
  const found = async (initialPeers: readonly string[], expected: readonly ExpectedFinding[]): Promise<void> => {
    const node = await machines.node(0, { settings: ownSwarm(initialPeers, swarmKey) }).start()
    await assertFinds((...options) => doctorOn(node.machine, node.folder, options), expected)
    await node.stop()
  }
  for (const [name, initialPeer, ...expected] of faults.slice(-2))
    await machines.part(name, () => found([initialPeer], [expected]))
  await machines.part('all together', () =>
    found(
      faults.map(([, initialPeer]) => initialPeer),
      faults.map(([, , ...expected]) => expected),
    ),
  )
})
