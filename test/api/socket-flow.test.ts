import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { TestSocket } from '../support/socket.ts'

const events = 400
/** Times `events`, more than all socket buffers hold: some systems have receive buffers of 32 MB. */
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

/** A slow client that sends a query and does not read, and the results of a fast one. */
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

test('the query of a slow client is paused, and delivers everything once the client reads', async (t) => {
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

test('requests of a client that does not read responses are not processed until it reads', async (t) => {
  const api = await startApi(t, { store: await sqliteStore(t) })
  const slow = await TestSocket.open(t, api)
  slow.socket.pause()
  const [requests, perRequest] = [400, 1000]
  // Responses are larger than requests.
  const data = Array.from({ length: perRequest }, () => ({ tags: [], payload: 0 }))
  for (let id = 0; id < requests; id++) slow.request(id, 'publish', { data })
  const publishOne = async () => {
    const response = await api.publish('{"data":[{"tags":[],"payload":1}]}')
    return ((await response.json()) as { data: { offset: number }[] }).data[0]?.offset ?? 0
  }
  // Accepted requests are stored in order. Once none is accepted any more, these offsets are consecutive.
  let last = await publishOne()
  for (let alone = 0; alone < 20; ) {
    const offset = await publishOne()
    alone = offset === last + 1 ? alone + 1 : 0
    last = offset
  }
  assert.ok(last < requests * perRequest, 'all requests were processed for a client that does not read')
  slow.socket.resume()
  const completed = new Set<number>()
  while (completed.size < requests) {
    const { type, requestId } = await slow.take()
    if (type === 'complete') completed.add(requestId)
  }
})

test('the query of a slow client ends when it disconnects', async (t) => {
  const { api, slow } = await slowAndFast(t)
  slow.socket.terminate()
  await api.reading(0).ended
})

test('a large response does not block other requests on the same socket', async (t) => {
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

test('a cancelled subscription sends nothing more', async (t) => {
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
