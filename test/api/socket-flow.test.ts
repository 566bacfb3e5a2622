import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { TestSocket } from '../support/socket.ts'

const events = 400
/** More than all the buffers between a node and its client together. */
const payload = 'x'.repeat(100_000)

async function filled(t: TestContext): Promise<TestApi> {
  const api = await startApi(t, { store: await sqliteStore(t) })
  for (let from = 0; from < events; from += 100) {
    const data = Array.from({ length: 100 }, (_, i) => ({ tags: ['large'], payload: { n: from + i, payload } }))
    assert.equal((await api.publish(JSON.stringify({ data }))).status, 200)
  }
  return api
}

const query = { query: "FROM 'large'", order: 'asc' }

test('for a client that does not read, nothing more is read; when it does, it gets everything', async (t) => {
  const api = await filled(t)
  const slow = await TestSocket.open(t, api)
  slow.socket.pause()
  slow.request(1, 'query', query)
  const fast = await TestSocket.open(t, api)
  fast.request(1, 'query', query)
  const all = (await fast.answered(1)).flatMap((message) => message.payload ?? [])
  assert.equal(all.length, events + 1)
  const [forSlow, forFast] = api.readings
  assert.ok(forSlow && forFast)
  assert.ok(forFast.bytes > events * payload.length)
  assert.ok(forSlow.bytes < forFast.bytes / 2, `${forSlow.bytes} bytes were read for a client that does not read`)
  slow.socket.resume()
  const received = (await slow.answered(1)).flatMap((message) => message.payload ?? [])
  assert.deepEqual(
    received.slice(0, -1).map((event) => (event['payload'] as { n: number }).n),
    Array.from({ length: events }, (_, n) => n),
  )
})

test('a client that does not read can go away', async (t) => {
  const api = await filled(t)
  const slow = await TestSocket.open(t, api)
  slow.socket.pause()
  slow.request(1, 'query', query)
  const other = await TestSocket.open(t, api)
  other.request(1, 'query', query)
  await other.answered(1)
  slow.socket.terminate()
  await api.readings[0]?.ended
})

test('a large answer does not keep others on the same socket waiting', async (t) => {
  const api = await filled(t)
  const socket = await TestSocket.open(t, api)
  socket.request(1, 'query', query)
  await socket.take()
  socket.request(2, 'offsets', null)
  socket.request(3, 'publish', { data: [{ tags: ['small'], payload: 1 }] })
  socket.request(4, 'query', { query: "FROM 'small'", order: 'asc' })
  await socket.answered(1)
  const ends = socket.texts.filter((text) => text.startsWith('{"type":"complete"'))
  assert.equal(ends.at(-1), '{"type":"complete","requestId":1}')
  assert.equal(ends.length, 4)
})

test('a subscription that is cancelled in the middle says nothing more', async (t) => {
  const api = await filled(t)
  const socket = await TestSocket.open(t, api)
  socket.request(1, 'subscribe', { query: query.query })
  await socket.take()
  socket.cancel(1)
  await api.readings[0]?.ended
  await socket.settled()
  const count = socket.texts.length
  await api.publish(JSON.stringify({ data: [{ tags: ['large'], payload: 1 }] }))
  await socket.settled()
  assert.equal(socket.texts.length, count + 2)
})
