import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { form, json } from '../support/node.ts'
import { ShoalProcess, shoal, until } from '../support/process.ts'

interface Answer {
  readonly status: number
  readonly text: string
}

/** A client with one keep-alive connection. */
class Client {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #token = ''

  constructor(t: TestContext, url: string) {
    this.#url = url
    t.after(() => this.#agent.destroy())
  }

  async signIn(): Promise<void> {
    const { text } = await this.ask('POST', '/api/v2/auth', JSON.stringify(manifest))
    this.#token = (JSON.parse(text) as { token: string }).token
  }

  ask(method: string, path: string, body: string | Buffer = '', type = json['content-type']): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#token}`, 'content-type': type }
      const asked = request(`${this.#url}${path}`, { method, agent: this.#agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      asked.on('error', reject).end(body)
    })
  }
}

/** Opens idle connections; the node closes those beyond its limit. */
async function openIdle(t: TestContext, url: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: count }, () => connect({ host: hostname, port: Number(port) }))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const socket of sockets) socket.on('error', () => {}).resume()
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
  )
  return sockets
}

/** Publishes 60,000 events: enough for many chunks to be sealed meanwhile. */
async function publishMany(client: Client): Promise<void> {
  const data = Array.from({ length: 2000 }, (_, i) => ({ tags: ['many'], payload: { i } }))
  for (let i = 0; i < 30; i++)
    assert.equal((await client.ask('POST', '/api/v2/events/publish', JSON.stringify({ data }))).status, 200)
}

for (const [openFiles, warned] of [
  [256, true],
  [1024, true],
] as const)
  test(`a node limited to ${openFiles} open files serves its clients while others hold all connections`, async (t) => {
    const folder = temporaryFolder(t)
    const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder], { openFiles })
    const url = await run.api()
    assert.equal(/WARN.*the limit of open files is/.test(run.stderr), warned)
    const client = new Client(t, url)
    await client.signIn()
    const idle = await openIdle(t, url, openFiles + 100)
    await until(
      () => (idle.some(({ destroyed }) => destroyed) ? true : undefined),
      () => 'no connection was refused',
    )
    await publishMany(client)
    const { body, type } = form([['a.txt', 'x'.repeat(600_000)]])
    assert.equal((await client.ask('POST', '/api/v2/files', body, type)).status, 200)
    assert.equal((await client.ask('PUT', '/api/v2/blob/-/a/b', 'text', 'text/plain')).status, 204)
    assert.equal((await client.ask('GET', '/api/v2/openapi')).status, 200)
    assert.equal((await client.ask('GET', '/readyz')).status, 200)
    const query = JSON.stringify({ query: `FROM 'many'`, order: 'asc' })
    const found = await client.ask('POST', '/api/v2/events/query', query)
    assert.equal(found.text.match(/"type":"event"/g)?.length, 60_000)
    const metrics = (await client.ask('GET', '/metrics')).text
    const [, refused] = /shoal_connections_refused_total\{[^}]*listener="api"[^}]*\} (\d+)/.exec(metrics) ?? []
    assert.ok(Number(refused) >= 100, metrics)
    assert.match(metrics, /process_resident_memory_bytes\{[^}]*\} \d{6}/)
    assert.match(run.stderr, /WARN.*connections? to the API refused: all \d+ /)
    // The other ports have their own share of connections.
    const [, admin = ''] = await run.logged(/Admin API bound to \/ip4\/127\.0\.0\.1\/tcp\/(\d+)\./)
    assert.equal((await new Client(t, `http://127.0.0.1:${admin}`).ask('GET', '/api/v2/admin/ready')).status, 200)
    const descriptors = readdirSync(`/proc/${run.child.pid}/fd`).length
    assert.ok(descriptors <= openFiles - 32, `${descriptors} descriptors are open`)
    for (const socket of idle) socket.destroy()
    await until(
      async () => {
        const other = new Client(t, url)
        return await other.ask('GET', '/readyz').catch(() => undefined)
      },
      () => 'no new connection was accepted',
    )
    assert.equal(run.child.exitCode, null)
    run.kill('SIGTERM')
    assert.equal((await run.ended).code, 0)
    const { stdout } = await shoal(t, ['store', 'stats', '--json', '--working-dir', folder])
    const [topic] = (JSON.parse(stdout) as { result: { streams: { segments: number }[] }[] }).result
    assert.ok((topic?.streams[0]?.segments ?? 0) > 20, stdout)
  })

test('a node with too low a limit of open files refuses to start and says how to raise it', async (t) => {
  for (const openFiles of [32, 64, 159]) {
    const folder = join(temporaryFolder(t), 'data')
    const ended = await shoal(t, ['run', '--random', '--working-dir', folder], { openFiles })
    assert.equal(ended.code, 1, ended.stderr)
    assert.match(ended.stderr, new RegExp(`limit of open files is ${openFiles}.* at least 160.*ulimit -n`, 's'))
    assert.equal(existsSync(folder) && readdirSync(folder).length > 0, false)
  }
})
