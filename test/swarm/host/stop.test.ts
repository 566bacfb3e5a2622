import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ciphersInUse } from '../../../src/swarm/host/protected-connection.ts'
import { eventually, TestHost } from './hosts.ts'

/** Sockets, servers and timers that keep the process alive. */
function openResources(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => /TCP|UDP|Timeout/.test(kind))
}

test('hosts that have stopped leave no socket, timer or cipher', async (t) => {
  const before = openResources().length
  const hosts = await Promise.all([TestHost.start(t), TestHost.start(t), TestHost.start(t)])
  const [a, b, c] = hosts
  const [atA] = await a.connect(b)
  await b.connect(c)
  await c.connect(a)
  // One session is in the middle of sending, one is about to be closed, and one dial is under way.
  atA.session.send('sync', Buffer.alloc(4 * 1024 * 1024))
  b.sessions[0]?.session.close('double')
  const dialled = b.host.dial(a.name, a.address, new AbortController().signal).catch(() => {})
  await Promise.all(hosts.map(({ host }) => host.stop()))
  await dialled
  await eventually(() => hosts.every(({ sessions }) => sessions.every(({ closed }) => closed !== undefined)))
  assert.equal(ciphersInUse.count, 0)
  await eventually(() => openResources().length <= before)
})

test('a host can be stopped twice and refuses to dial afterwards', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  await Promise.all([a.host.stop(), a.host.stop()])
  await assert.rejects(a.host.dial(b.name, b.address, new AbortController().signal), { name: 'DialFailure' })
})
