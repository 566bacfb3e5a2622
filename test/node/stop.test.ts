import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess } from '../support/process.ts'

async function running(t: TestContext): Promise<{ node: ShoalProcess; api: string; token: string }> {
  const node = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t)])
  const api = await node.api()
  const response = await fetch(`${api}/api/v2/auth`, { method: 'POST', body: Buffer.from(JSON.stringify(manifest)) })
  return { node, api, token: ((await response.json()) as { token: string }).token }
}

const stopped = 'Event store was stopped while request was queued or running.'

test('a subscription over HTTP ends with the error object when the node stops', async (t) => {
  const { node, api, token } = await running(t)
  const response = await fetch(`${api}/api/v2/events/subscribe`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: `FROM 'nothing'` }),
  })
  let text = ''
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (text === '') node.kill('SIGTERM')
    text += piece
  }
  const [offsets = '', ...rest] = text.trim().split('\n')
  assert.equal((JSON.parse(offsets) as { type: string }).type, 'offsets')
  const error = { code: 'ERR_SHUTTING_DOWN', message: `Service shutting down. ${stopped}` }
  assert.deepEqual(rest, [JSON.stringify(error)])
  assert.equal((await node.ended).code, 0)
})

test('requests on a WebSocket end with an error, and it is closed, when the node stops', async (t) => {
  const { node, api, token } = await running(t)
  const socket = new WebSocket(`${api.replace('http', 'ws')}/api/v2/events?${token}`)
  const messages: { type: string; requestId: number; kind?: object }[] = []
  socket.on('message', (data) => messages.push(JSON.parse(String(data))))
  await once(socket, 'open')
  const request = { type: 'request', requestId: 7, serviceId: 'subscribe', payload: { query: `FROM 'nothing'` } }
  socket.send(JSON.stringify(request))
  await once(socket, 'message')
  const closed = once(socket, 'close')
  node.kill('SIGTERM')
  const [code] = (await closed) as [number]
  assert.equal(code, 1001)
  assert.deepEqual(messages.slice(1), [
    { type: 'error', requestId: 7, kind: { type: 'serviceError', value: stopped } },
    { type: 'complete', requestId: 7 },
  ])
  assert.equal((await node.ended).code, 0)
})
