import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { logStats, topicFile } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { Lines } from '../support/lines.ts'
import { json, startNode, type TestNode } from '../support/node.ts'
import { until } from '../support/process.ts'

const setTopic = ({ node }: TestNode, topic: string) => node.settings.set(['swarm', 'topic'], topic, 'test')

function publish({ call }: TestNode, payload: unknown): Promise<Response> {
  const body = JSON.stringify({ data: [{ tags: ['x'], payload }] })
  return call('/api/v2/events/publish', { method: 'POST', headers: json, body })
}

/** Waits for a line of the log, which costs less than asking the node. */
async function logged({ log }: TestNode, text: string): Promise<void> {
  await until(
    () => log.find((line) => line.includes(text)),
    () => `'${text}' is not in the log:\n${log.join('')}`,
  )
}

async function changeTopic(node: TestNode, topic: string): Promise<void> {
  await setTopic(node, topic)
  await logged(node, `the topic '${topic}' is open`)
}

test('a change of the topic and back has the events, files and blobs of each topic, with the same token', async (t) => {
  const node = await startNode(t)
  const stored = async () => {
    const page = await node.call('/api/v2/files/page')
    return {
      events: await node.payloads('x'),
      file: page.status === 200 ? await page.text() : undefined,
      blob: await (await node.call('/api/v2/blob/-/here')).text(),
    }
  }
  assert.equal((await publish(node, 'one')).status, 200)
  const cid = await (await node.upload({ 'a.txt': 'one' })).text()
  assert.equal((await node.call('/api/v2/files/page', { method: 'PUT', body: cid })).status, 200)
  assert.equal((await node.call('/api/v2/blob/-/here', { method: 'PUT', body: 'one' })).status, 204)
  await changeTopic(node, 'other')
  assert.deepEqual(await stored(), { events: [], file: undefined, blob: '' })
  // Other settings apply to the topic that is open now.
  await node.node.settings.set(['eventRouting', 'routes'], [{ from: `'x'`, into: 'mine' }], 'test')
  const { data } = (await (await publish(node, 'two')).json()) as { data: { stream: string }[] }
  assert.equal(data[0]?.stream.slice(44), '4')
  await changeTopic(node, 'default-topic')
  assert.deepEqual(await stored(), { events: ['one'], file: 'one', blob: 'one' })
  assert.equal((await fetch(`${node.url}/readyz`)).status, 200)
  const metrics = await (await node.call('/metrics')).text()
  assert.equal(metrics.match(/^# HELP shoal_events_published_total /gm)?.length, 1)
  assert.match(metrics, /^shoal_events_published_total\{.*\} [2-9]/m)
})

const stopped = 'Event store was stopped while request was queued or running.'

/** Sends requests of all kinds. Returns the 503 responses by their error code; others have to succeed. */
async function refusalsUntil(node: TestNode, isDone: () => boolean): Promise<Map<string, Response>> {
  const refusals = new Map<string, Response>()
  while (!isDone()) {
    const responses = await Promise.all([
      publish(node, 1),
      node.call('/api/v2/events/offsets'),
      node.call('/api/v2/blob/-/here'),
      node.call('/api/v2/files'),
      node.upload({ 'a.txt': 'a' }),
      fetch(`${node.url}/healthz`),
    ])
    for (const response of responses) {
      const text = await response.text()
      if (response.status === 503) refusals.set((JSON.parse(text) as { code: string }).code, response)
      else assert.ok([200, 204].includes(response.status), `${response.url}: ${response.status} ${text}`)
    }
  }
  return refusals
}

test('while the topic changes, requests get 503 with Retry-After, and subscriptions end', async (t) => {
  const node = await startNode(t)
  const body = JSON.stringify({ query: `FROM 'y'` })
  const lines = new Lines(await node.call('/api/v2/events/subscribe', { method: 'POST', headers: json, body }))
  assert.match(await lines.next(), /"offsets"/)
  const connect = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`${node.url.replace('http', 'ws')}/api/v2/events?${node.token}`)
    await once(socket, 'open')
    const request = { type: 'request', requestId: 7, serviceId: 'subscribe', payload: { query: `FROM 'y'` } }
    socket.send(JSON.stringify(request))
    assert.match(String((await once(socket, 'message'))[0]), /"offsets"/)
    return socket
  }
  const socket = await connect()
  const messages: unknown[] = []
  socket.on('message', (data) => messages.push(JSON.parse(String(data))))
  const closed = once(socket, 'close')
  const isOpen = () => node.log.some((line) => line.includes(`the topic 'other' is open`))
  const asking = refusalsUntil(node, isOpen)
  await setTopic(node, 'other')

  assert.deepEqual(JSON.parse(await lines.nextFull()), {
    code: 'ERR_SHUTTING_DOWN',
    message: `Service shutting down. ${stopped}`,
  })
  assert.equal((await closed)[0], 1012)
  assert.deepEqual(messages, [
    { type: 'error', requestId: 7, kind: { type: 'serviceError', value: stopped } },
    { type: 'complete', requestId: 7 },
  ])
  const refusals = await asking
  assert.ok(refusals.has('ERR_TOPIC_UNAVAILABLE'), [...refusals.keys()].join())
  for (const response of refusals.values()) assert.equal(response.headers.get('retry-after'), '1')
  const again = await connect()
  again.terminate()
})

test('a topic that cannot be opened is reported, and can be set back', async (t) => {
  const folder = temporaryFolder(t)
  const node = await startNode(t, folder)
  assert.equal((await publish(node, 'kept')).status, 200)
  // A folder in place of the database.
  mkdirSync(topicFile(folder, 'broken'))
  await setTopic(node, 'broken')
  await logged(node, `ERROR node: opening a topic fails: 'broken': `)
  const reasons = await (await fetch(`${node.url}/readyz`)).text()
  assert.match(reasons, /"component":"Events","state":"failed","detail":"the topic 'broken' could not be opened: /)
  const refused = await publish(node, 'refused')
  assert.equal(refused.status, 503)
  assert.match(((await refused.json()) as { message: string }).message, /^The topic 'broken' is not open: it could not/)
  await changeTopic(node, 'default-topic')
  assert.deepEqual(await node.payloads('x'), ['kept'])
  await logged(node, 'INFO node: opening a topic works again')
  assert.equal((await fetch(`${node.url}/readyz`)).status, 200)
})

test('a node can be stopped while it changes its topic, and the old topic has what was acknowledged', async (t) => {
  const folder = temporaryFolder(t)
  const node = await startNode(t, folder)
  assert.equal((await publish(node, 'one')).status, 200)
  await setTopic(node, 'other')
  await setTopic(node, 'third')
  await node.node.stop('NODE_STOPPED_BY_HOST')
  // Four events with the names of streams, and the published one.
  assert.equal(logStats(topicFile(folder, 'default-topic')).events, 5)
  assert.equal(logStats(topicFile(folder, 'other')).events, 4)
  assert.ok(node.log.some((line) => line.includes('shoal was stopped')))
})
