import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KeyPair, peerIdOf } from '../../../src/identity/index.ts'
import { assertFinds, type ExpectedFinding } from '../../support/doctor.ts'
import { Journey } from '../../support/journey.ts'
import { shoal, until } from '../../support/process.ts'
import { RunningNode, testSwarm } from '../../support/running-node.ts'

// Faults of disks: test/disk/doctor.test.ts. Faults of networks, with the same command: test/site/doctor.test.ts.

/** A fault that was made, as `shoal doctor` has to see it. */
interface Made {
  /** The arguments that name the node. */
  readonly node: readonly string[]
  readonly expected: readonly ExpectedFinding[]
}

interface Fault {
  readonly name: string
  readonly make: (t: TestContext, journey: Journey) => Promise<Made>
}

const freePorts = ['--bind-api', '127.0.0.1:0', '--bind-admin', '127.0.0.1:0', '--bind-swarm', '127.0.0.1:0']
const isStopped: ExpectedFinding = ['running', 'error', /^No node runs in \//]
const folderIn = ({ folder }: Journey, name = 'data'): string => join(folder, name)
const started = (t: TestContext, journey: Journey, initialPeers: readonly string[]): Promise<RunningNode> =>
  RunningNode.start(t, folderIn(journey), { swarm: { ...testSwarm, initialPeers } })

/** A node that dials another one, which has other settings or another environment. */
async function besides(
  t: TestContext,
  journey: Journey,
  swarm: object,
  env: NodeJS.ProcessEnv = {},
): Promise<readonly string[]> {
  const other = await RunningNode.start(t, folderIn(journey, 'other'), { swarm: { ...testSwarm, ...swarm }, env })
  return ['--working-dir', (await started(t, journey, [other.peerAddress])).folder]
}

/** A node on which an event was published. */
async function publishing(t: TestContext, journey: Journey): Promise<RunningNode> {
  const node = await RunningNode.start(t, folderIn(journey))
  await journey.text('events', 'publish', '1', '--working-dir', node.folder)
  return node
}

/** The folder of such a node, which was stopped. */
async function stopped(t: TestContext, journey: Journey): Promise<string> {
  const node = await publishing(t, journey)
  await node.stop()
  return node.folder
}

/** A process whose wall clock is ahead by two minutes. */
const aheadClock = 'data:text/javascript,Date.now=(now=>()=>now()+120000)(Date.now)'

async function listening(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A port at which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const faults: readonly Fault[] = [
  {
    name: 'a port that another program uses',
    make: async (t, journey) => {
      const [folder, port] = [await stopped(t, journey), await listening(t)]
      const ports = ['--bind-api', `127.0.0.1:${port}`, ...freePorts.slice(2)]
      const problem = new RegExp(`^Port ${port} \\(API\\) is in use by another program\\.$`)
      return { node: ['--working-dir', folder, ...ports], expected: [isStopped, ['ports', 'error', problem]] }
    },
  },
  {
    name: 'another swarm key',
    make: async (t, journey) => ({
      node: await besides(t, journey, { swarmKey: Buffer.alloc(32, 'other').toString('base64') }),
      expected: [['swarm key', 'error', /^The initial peer 12D3\w+ at .* another swarm key/]],
    }),
  },
  {
    name: 'another topic',
    make: async (t, journey) => ({
      node: await besides(t, journey, { topic: 'other' }),
      expected: [['topic', 'error', /: the node is in the topic 'other', this node in 'default-topic'\.$/]],
    }),
  },
  {
    name: 'a clock that is off',
    make: async (t, journey) => ({
      node: await besides(t, journey, {}, { NODE_OPTIONS: `--import=${aheadClock}` }),
      expected: [['clock', 'error', /^The clock of the node \S+ is 1(19|20)\.\d s ahead of that of this node\.$/]],
    }),
  },
  {
    name: 'a read-only node',
    make: async (t, journey) => {
      const { folder } = await RunningNode.start(t, folderIn(journey))
      await journey.text('settings', 'set', '/api/events/readOnly', 'true', '--working-dir', folder)
      const problem = /^The node is read-only \(\/api\/events\/readOnly\)/
      return { node: ['--working-dir', folder], expected: [['replication', 'warning', problem]] }
    },
  },
  {
    name: 'a stopped node',
    make: async (t, journey) => ({
      node: ['--working-dir', await stopped(t, journey), ...freePorts],
      expected: [isStopped],
    }),
  },
  {
    name: 'a stopped node that is named by its address',
    make: async (t, journey) => {
      await journey.run(['users', 'keygen'], '\n')
      const node = await publishing(t, journey)
      await node.stop()
      return { node: [node.admin], expected: [['running', 'error', /ECONNREFUSED/]] }
    },
  },
  {
    name: 'a missing key of the node',
    make: async (t, journey) => {
      const folder = await stopped(t, journey)
      rmSync(join(folder, 'node.db'))
      const problem = /has events, but node\.db with the key of their node is missing\.$/
      return {
        node: ['--working-dir', folder, ...freePorts],
        expected: [isStopped, ['identity', 'error', problem]],
      }
    },
  },
  {
    name: 'a missing key of the user',
    make: async (t, journey) => {
      const { admin } = await RunningNode.start(t, folderIn(journey))
      return { node: [admin], expected: [['access', 'error', /There is no user key/]] }
    },
  },
  {
    name: 'a stale lock',
    make: async (t, journey) => {
      const { folder, process } = await publishing(t, journey)
      process.kill('SIGKILL')
      await process.ended
      const problem = /^The lock is stale: the process \d+ that had it ended without stopping\.$/
      return { node: ['--working-dir', folder, ...freePorts], expected: [isStopped, ['lock', 'warning', problem]] }
    },
  },
  {
    name: 'a node that other machines cannot find',
    make: async (t, journey) => {
      const swarm = { ...testSwarm, announceAddresses: ['/ip4/127.0.0.1/tcp/4001'] }
      const { folder } = await RunningNode.start(t, folderIn(journey), { swarm })
      return {
        node: ['--working-dir', folder],
        expected: [
          ['peers', 'warning', /^The node listens for others on loopback only: \/ip4\/127\.0\.0\.1\/tcp\/\d+\.$/],
          ['peers', 'warning', /in \/swarm\/announceAddresses: \/ip4\/127\.0\.0\.1\/tcp\/4001\.$/],
        ],
      }
    },
  },
  {
    name: 'an initial peer that cannot be reached',
    make: async (t, journey) => {
      const peer = peerIdOf(new KeyPair(Buffer.alloc(32, 5)).publicKey)
      const { folder } = await started(t, journey, [`/ip4/127.0.0.1/tcp/${await closedPort()}/p2p/${peer}`])
      const problem = new RegExp(`^The initial peer ${peer} at .* is not connected: connection refused`)
      return { node: ['--working-dir', folder], expected: [['peers', 'error', problem]] }
    },
  },
]

for (const { name, make } of faults)
  test(`\`shoal doctor\` finds ${name}, for people and for programs`, async (t) => {
    const journey = new Journey(t)
    const { node, expected } = await make(t, journey)
    await assertFinds((...options) => shoal(t, ['doctor', ...node, ...options], { env: journey.env }), expected)
  })

test('the suggested command sets the topic that the other node has, and the fault is gone', async (t) => {
  const journey = new Journey(t)
  const node = await besides(t, journey, { topic: '123' })
  const run = (...options: string[]) => shoal(t, ['doctor', ...node, ...options])
  const [finding] = await assertFinds(run, [['topic', 'error', /in the topic '123'/]])
  const [, scope = '', value = '', ...named] =
    /^shoal settings set (\S+) '(\S+)' (\S+) (\S+)$/.exec(finding?.fix[0] ?? '') ?? []
  assert.equal(scope, '/swarm/topic', finding?.fix[0])
  await journey.text('settings', 'set', scope, value, ...named)
  let last = ''
  await until(
    async () => {
      const { code, stdout } = await run('--json')
      last = stdout
      return code === 0 ? true : undefined
    },
    () => last,
  )
})
