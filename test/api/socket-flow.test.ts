import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { TestSocket } from '../support/socket.ts'

const events = 400
/** More than the buffers between a node and its client take: some systems give a receiver 32 MB. */
const tooMuch = 'x'.repeat(250_000)

async function filled(t: TestContext, payload = 'x'.repeat(100_000)): Promise<TestApi> {
  const api = await startApi(t, { store: await sqliteStore(t) })
  for (let from = 0; from < events; from += 100) {
    const data = Array.from({ length: 100 }, (_, i) => ({ tags: ['large'], payload: { n: from + i, payload } }))
    assert.equal((await api.publish(JSON.stringify({ data }))).status, 200)
  }
  return api
}

const query = { query: "FROM 'large'", order: 'asc' }

/** A client that asks and does not read, and what another one got that did. */
async function slowAndFast(t: TestContext): Promise<{ api: TestApi; slow: TestSocket; fast: unknown[] }> {
  const api = await filled(t, tooMuch)
  const slow = await TestSocket.open(t, api)
  slow.socket.pause()
  slow.request(1, 'query', query)
  const other = await TestSocket.open(t, api)
  other.request(1, 'query', query)
  const fast = (await other.answered(1)).flatMap((message) => message.payload ?? [])
  return { api, slow, fast }
}

test('for a client that does not read, nothing more is read; when it does, it gets everything', async (t) => {
  const { api, slow, fast } = await slowAndFast(t)
  assert.equal(fast.length, events + 1)
  const [forSlow, forFast] = api.readings
  assert.ok(forSlow && forFast)
  assert.ok(forFast.bytes > events * tooMuch.length)
  assert.ok(forSlow.bytes < 0.75 * forFast.bytes, `${forSlow.bytes} bytes were read for a client that does not read`)
  slow.socket.resume()
  const received = (await slow.answered(1)).flatMap((message) => message.payload ?? [])
  assert.deepEqual(
    received.slice(0, -1).map((event) => (event['payload'] as { n: number }).n),
    Array.from({ length: events }, (_, n) => n),
  )
})

test('a client that asks and does not read is not heard, until it does', async (t) => {
  const api = await startApi(t, { store: await sqliteStore(t) })
  const deaf = await TestSocket.open(t, api)
  deaf.socket.pause()
  const [requests, perRequest] = [400, 1000]
  // Answers are larger than what is asked.
  const data = Array.from({ length: perRequest }, () => ({ tags: [], payload: 0 }))
  for (let id = 0; id < requests; id++) deaf.request(id, 'publish', { data })
  const publishOne = async () => {
    const response = await api.publish('{"data":[{"tags":[],"payload":1}]}')
    return ((await response.json()) as { data: { offset: number }[] }).data[0]?.offset ?? 0
  }
  // Whatever was taken before is stored before; when nothing is any more, one offset follows the other.
  let last = await publishOne()
  for (let alone = 0; alone < 20; ) {
    const offset = await publishOne()
    alone = offset === last + 1 ? alone + 1 : 0
    last = offset
  }
  assert.ok(last < requests * perRequest, 'all requests were taken, and their answers are kept for nobody')
  deaf.socket.resume()
  const completed = new Set<number>()
  while (completed.size < requests) {
    const { type, requestId } = await deaf.take()
    if (type === 'complete') completed.add(requestId)
  }
})

test('a client that does not read can go away', async (t) => {
  const { api, slow } = await slowAndFast(t)
  slow.socket.terminate()
  await api.reading(0).ended
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
  await api.reading(0).ended
  await socket.settled()
  const count = socket.texts.length
  await api.publish(JSON.stringify({ data: [{ tags: ['large'], payload: 1 }] }))
  await socket.settled()
  assert.equal(socket.texts.length, count + 2)
})
