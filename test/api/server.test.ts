import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { apiRoutes, serve } from '../../src/api/index.ts'
import { Health } from '../../src/health.ts'
import { parseNodeId } from '../../src/identity/index.ts'
import { listenOnAll } from '../../src/listen.ts'
import { Logger, logOutput, textLine } from '../../src/log/index.ts'

const nodeId = parseNodeId('.'.repeat(43))
const silent = new Logger(logOutput(textLine(false), { write: () => {}, flush: async () => {} }), 'api')

async function listening(t: TestContext, makeServer: () => Server): Promise<number> {
  const { servers, bound } = await listenOnAll(
    [{ host: '127.0.0.1', port: 0 }],
    { component: 'API', option: '--bind-api' },
    makeServer,
  )
  t.after(() => servers.map((server) => server.close()))
  return bound[0]?.port ?? 0
}

/** What the server sends to these bytes. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  socket.on('error', () => {})
  socket.write(bytes)
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

test('a node that is not ready says what is missing, and is alive', async (t) => {
  const health = new Health(['API', 'Admin', 'Swarm'])
  const port = await listening(t, () => serve(apiRoutes(health, nodeId), silent))
  health.set('API', 'started')
  health.set('Admin', 'failed', 'port in use')
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
  assert.equal(ready.status, 503)
  const reasons = [
    { component: 'Admin', state: 'failed', detail: 'port in use' },
    { component: 'Swarm', state: 'starting' },
  ]
  assert.deepEqual(await ready.json(), { status: 'not ready', reasons })
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
})

test('unknown paths and methods get the error object of the specification', async (t) => {
  const port = await listening(t, () => serve(apiRoutes(new Health([]), nodeId), silent))
  const notFound = { code: 'ERR_NOT_FOUND', message: 'The requested resource could not be found.' }
  for (const path of ['/', '/nothing', '/toString', '/__proto__', '/api/v2/node/id/x']) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    assert.equal(response.status, 404)
    assert.deepEqual(await response.json(), notFound)
  }
  const posted = await fetch(`http://127.0.0.1:${port}/readyz`, { method: 'POST', body: 'x' })
  assert.equal(posted.status, 405)
  assert.deepEqual(await posted.json(), { code: 'ERR_METHOD_NOT_ALLOWED', message: 'Method not supported.' })
  const head = await fetch(`http://127.0.0.1:${port}/readyz`, { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(await head.text(), '')
})

test('what is no HTTP gets a 400 and the server goes on', async (t) => {
  const port = await listening(t, () => serve(apiRoutes(new Health([]), nodeId), silent))
  const rubbish = [
    'rubbish\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET /\r\n\r\n\0\0',
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
    'GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
  ]
  for (const bytes of rubbish)
    assert.match(await exchange(port, bytes), /HTTP\/1\.1 400 Bad Request\r\n[\s\S]*"code":"ERR_BAD_REQUEST"/)
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
})

test('a defect in an answer is a 500 and a log line, not the end', async (t) => {
  const lines: string[] = []
  const log = new Logger(
    logOutput(textLine(false), { write: (text) => lines.push(text), flush: async () => {} }),
    'api',
  )
  const broken = () => {
    throw new Error('broken')
  }
  const port = await listening(t, () => serve({ '/broken': broken }, log))
  const response = await fetch(`http://127.0.0.1:${port}/broken`)
  assert.equal(response.status, 500)
  assert.deepEqual(await response.json(), { code: 'ERR_INTERNAL', message: 'Internal server error.' })
  assert.ok(lines.some((line) => /ERROR api: request failed: broken/.test(line)))
})
