import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { eventually, TestHost } from './hosts.ts'

const kibibyte = 1024
const mebibyte = 1024 * 1024

test('a paused peer stops the sender, which is congested, and gets everything when it goes on', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  atB.session.pause(true)
  for (let i = 0; i < 64; i++) atA.session.send('live', Buffer.alloc(64 * kibibyte, i))
  await eventually(() => atA.congested.length === 1)
  // At most a window and the buffers of the sockets are under way.
  assert.ok(atA.session.waitingBytes > mebibyte)
  assert.equal(atB.messages.length, 0)
  atB.session.pause(false)
  await eventually(() => atB.messages.length === 64)
  assert.deepEqual(atA.congested, [true, false])
  assert.equal(atA.session.waitingBytes, 0)
  assert.deepEqual(
    atB.messages.map(({ bytes }) => bytes[0]),
    Array.from({ length: 64 }, (_, i) => i),
  )
})

test('a paused session delivers nothing of what has arrived, and the rest of a piece afterwards', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  const { session } = atB
  const { onMessage } = session
  session.onMessage = (channel, bytes) => {
    onMessage(channel, bytes)
    session.pause(true)
  }
  for (let i = 0; i < 10; i++) atA.session.send('sync', Buffer.of(i))
  for (let i = 1; i <= 10; i++) {
    await eventually(() => atB.messages.length === i)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(atB.messages.length, i)
    session.pause(false)
  }
})

test('a queue above the limit closes the session', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  atB.session.pause(true)
  const message = Buffer.alloc(mebibyte)
  for (let i = 0; i <= limits.sessionQueueBytes / mebibyte; i++) atA.session.send('sync', message)
  await eventually(() => atA.closed !== undefined && atB.closed !== undefined)
  assert.deepEqual(atA.closed?.end, { by: 'this node', code: 'tooSlow' })
  assert.match(atA.closed?.reason ?? '', /too slow/)
})

test('a session that is closed is drained in both directions, and both sides know the reason', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  for (let i = 0; i < 8; i++) {
    atA.session.send('blocks', Buffer.alloc(400 * kibibyte, i))
    atB.session.send('sync', Buffer.alloc(400 * kibibyte, i))
  }
  atA.session.close('double')
  atA.session.send('live', Buffer.from('too late'))
  await eventually(() => atA.closed !== undefined && atB.closed !== undefined)
  assert.deepEqual([atA.messages.length, atB.messages.length], [8, 8])
  assert.deepEqual(atA.closed?.end, { by: 'this node', code: 'double' })
  assert.deepEqual(atB.closed?.end, { by: 'the peer', code: 'double' })
  assert.equal(atB.closed?.reason, 'the peer closed the session: another connection to this node is kept')
})

test('a session that is closed at once tells the peer the reason', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  atA.session.send('sync', Buffer.alloc(4 * mebibyte))
  atA.session.close('badChunk', true)
  assert.equal(atA.closed, undefined)
  await eventually(() => atA.closed !== undefined && atB.closed !== undefined)
  assert.deepEqual(atB.closed?.end, { by: 'the peer', code: 'badChunk' })
  assert.equal(atB.messages.length, 0)
})

test('a host that stops tells its peers, and both may connect again', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [, atB] = await a.connect(b)
  await a.host.stop()
  await eventually(() => atB.closed !== undefined)
  assert.deepEqual(atB.closed?.end, { by: 'the peer', code: 'stopping' })
  const again = await TestHost.start(t, { key: a.key })
  await again.connect(b)
})

test('two nodes that dial each other at the same time have two sessions, and the one that is kept works', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const never = new AbortController().signal
  await Promise.all([a.host.dial(b.name, b.address, never), b.host.dial(a.name, a.address, never)])
  await eventually(() => a.sessions.length === 2 && b.sessions.length === 2)
  const [kept, other] = a.sessions.toSorted((x) => (x.session.direction === 'outbound' ? -1 : 1))
  other?.session.close('double')
  await eventually(() => other?.closed)
  kept?.session.send('live', Buffer.from('still here'))
  await eventually(() => b.sessions.find(({ messages }) => messages.length === 1))
})

test('large messages arrive, and live messages overtake them', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  const large = Buffer.alloc(limits.syncMessageBytes, 1)
  atA.session.send('sync', large)
  for (let i = 0; i < 8; i++) atA.session.send('blocks', Buffer.alloc(limits.exchangeMessageBytes, 2))
  await eventually(() => atB.session.receivedBytes > mebibyte)
  atA.session.send('live', Buffer.from('urgent'))
  await eventually(() => atB.messages.length === 10)
  assert.ok(atB.messages.findIndex(({ channel }) => channel === 'live') < 9)
  const sync = atB.messages.find(({ channel }) => channel === 'sync')
  assert.ok(sync?.bytes.equals(large))
})

test('twenty hosts that dial one at once are all connected', async (t) => {
  const one = await TestHost.start(t)
  const others = await Promise.all(Array.from({ length: 20 }, () => TestHost.start(t)))
  await Promise.all(others.map((other) => other.connect(one)))
  assert.equal(one.sessions.length, 20)
  assert.deepEqual(one.failures, [])
  for (const { session } of one.sessions) session.send('live', Buffer.from('welcome'))
  await eventually(() => others.every(({ sessions }) => sessions[0]?.messages.length === 1))
})

test('when both sides close at the same time everything arrives', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const [atA, atB] = await a.connect(b)
  for (let i = 0; i < 6; i++)
    for (const { session } of [atA, atB]) {
      session.send('live', Buffer.alloc(300 * kibibyte, i))
      session.send('blocks', Buffer.alloc(400 * kibibyte, i))
    }
  atA.session.close('double')
  atB.session.close('double')
  await eventually(() => atA.closed !== undefined && atB.closed !== undefined)
  assert.deepEqual([atA.messages.length, atB.messages.length], [12, 12])
  for (const { closed } of [atA, atB]) assert.deepEqual(closed?.end, { by: 'this node', code: 'double' })
})
