import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { diagnose } from '../../../src/cli/commands/doctor.ts'
import { changeInFolder, initLocal } from '../../../src/cli/commands/local-settings.ts'
import type { Finding } from '../../../src/cli/doctor/finding.ts'
import { gatherFacts } from '../../../src/cli/doctor/gather.ts'
import { findingsOf } from '../../../src/cli/doctor/report.ts'
import { KeyPair, peerIdOf } from '../../../src/identity/index.ts'
import { bindRules, type Endpoints, parseBinds } from '../../../src/node/index.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { DataFolder } from '../../../src/store/index.ts'
import { adminPort } from '../../support/admin.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { ShoalProcess, shoal } from '../../support/process.ts'

const peer = peerIdOf(new KeyPair(Buffer.alloc(32, 5)).publicKey)

async function stoppedNode(t: TestContext): Promise<string> {
  const folder = join(temporaryFolder(t), 'data')
  await initLocal(folder, false)
  const swarm = { swarmKey: Buffer.alloc(32, 7).toString('base64'), mdns: false }
  await changeInFolder(folder, ['swarm'], { do: 'set', scope: ['swarm'], value: swarm })
  return folder
}

function endpoints(api = '127.0.0.1:0'): Endpoints {
  return {
    api: parseBinds([api], bindRules.api),
    admin: parseBinds(['127.0.0.1:0'], bindRules.admin),
    swarm: parseBinds(['127.0.0.1:0'], bindRules.swarm),
  }
}

async function problems(folder: string, at = endpoints()): Promise<string[]> {
  const { json, failed } = await diagnose({ folder }, at, false)
  const { findings } = json as { findings: Finding[] }
  assert.equal(
    failed,
    findings.some(({ severity }) => severity === 'error'),
  )
  return findings.filter(({ check }) => check !== 'exposure').map(({ check, problem }) => `${check}: ${problem}`)
}

async function listening(t: TestContext): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\n\r\nhello')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

test('a stopped node is found, and nothing else', async (t) => {
  const folder = await stoppedNode(t)
  assert.deepEqual(await problems(folder), [`running: No node runs in ${folder}.`])
})

test('a process that has the lock and does not answer is found', async (t) => {
  const folder = await stoppedNode(t)
  const open = DataFolder.open(folder, { create: false })
  t.after(() => open.close())
  // Commands wait for a node that is starting: here that time is over at once.
  let now = 0
  const clock = { ...systemRuntime.clock, steadyMs: () => (now += 60_000) }
  const facts = await gatherFacts({ folder }, endpoints(), { ...systemRuntime, clock })
  const [found] = findingsOf(facts)
  assert.match(found?.problem ?? '', new RegExp(`locked by the process ${process.pid}, which does not answer`))
})

test('an initial peer that nothing listens for is found while the node is stopped', async (t) => {
  const folder = await stoppedNode(t)
  const { server, port } = await listening(t)
  const address = `/ip4/127.0.0.1/tcp/${port}/p2p/${peer}`
  const scope = ['swarm', 'initialPeers']
  await changeInFolder(folder, scope, { do: 'set', scope, value: [address] })
  assert.equal((await problems(folder)).length, 1, 'it can be reached')
  await new Promise((resolve) => server.close(resolve))
  const [, found = ''] = await problems(folder)
  assert.match(found, /^peers: The initial peer 12D3\w+ at .* is not connected: connection refused: no node listens/)
})

test('a missing user key, a foreign one and a port without a node are found for an address', async (t) => {
  const { at, settings } = await adminPort(t)
  await settings.set(['admin', 'authorizedUsers'], ['0WBFFicIHbivRZXAlO7tPs7rCX6s7u2OIMJ2mx9nwg0w='], 'test')
  const identity = new KeyPair(Buffer.alloc(32, 3)).toPrivateText()
  const ask = async (node: string, key: string): Promise<string> => {
    const { json } = await diagnose({ folder: '', node, identity: key }, endpoints(), false)
    const [found] = (json as { findings: Finding[] }).findings
    return `${found?.check}: ${found?.problem} ${found?.why}`
  }
  const own = `localhost:${at.port}`
  assert.match(await ask(own, join(temporaryFolder(t), 'missing')), /^access: cannot read the user key/)
  assert.match(await ask(own, identity), /^access: Provided key is not authorized to access the API\./)
  assert.match(await ask('localhost:1', identity), /^running: .*ECONNREFUSED.* it is stopped/)
})

test('a running node is asked through its control socket, and a full report is written', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const run = new ShoalProcess(t, ['run', '--working-dir', folder, '--random', '--bind-api', '0.0.0.0:0'])
  await run.api()
  const human = await shoal(t, ['doctor', folder])
  assert.equal(human.code, 0)
  assert.match(human.stdout, /^warning {2}The swarm key is the public default\.\n {9}\S.*\n {9}\$ shoal settings set /)
  assert.match(human.stdout, /^warning {2}The API is open to the network: \/ip4\/0\.0\.0\.0\/tcp\/\d+\.$/m)
  const strict = await shoal(t, ['doctor', '--working-dir', folder, '--strict', '--json'])
  assert.equal(strict.code, 1)
  const { code, result } = JSON.parse(strict.stdout)
  assert.deepEqual([code, result.reach], ['OK', 'running'])
  assert.ok(result.checks.includes('replication'))
  assert.deepEqual(Object.keys(result.findings[0]), ['check', 'severity', 'problem', 'why', 'fix'])
})
