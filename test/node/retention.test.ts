import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess, shoal, until } from '../support/process.ts'

/** An app on a node with a very short pruning interval. */
class App {
  readonly #process: ShoalProcess
  readonly #api: string
  readonly #token: string

  private constructor(process: ShoalProcess, api: string, token: string) {
    this.#process = process
    this.#api = api
    this.#token = token
  }

  static async start(t: TestContext, folder: string): Promise<App> {
    const args = ['run', '--random', '--retention-interval', '20', '--working-dir', folder]
    const process = new ShoalProcess(t, args)
    const api = await process.api()
    const auth = await fetch(`${api}/api/v2/auth`, { method: 'POST', body: Buffer.from(JSON.stringify(manifest)) })
    return new App(process, api, ((await auth.json()) as { token: string }).token)
  }

  logged(pattern: RegExp): Promise<unknown> {
    return this.#process.logged(pattern)
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.ended
  }

  /** Publishes events. Returns the numbers of their streams. */
  async publish(...tags: string[]): Promise<number[]> {
    const body = await this.#post('publish', { data: tags.map((tag) => ({ tags: [tag], payload: null })) })
    return (JSON.parse(body) as { data: { stream: string }[] }).data.map(({ stream }) => Number(stream.slice(44)))
  }

  async query(query: string): Promise<{ offset: number; payload: unknown }[]> {
    const lines = (await this.#post('query', { query, order: 'asc' })).split('\n')
    return lines.filter((line) => line.includes('"type":"event"')).map((line) => JSON.parse(line))
  }

  /** Waits until the first result of a query has a given offset. */
  async oldest(query: string, offset: number): Promise<void> {
    const found = async () => ((await this.query(query))[0]?.offset === offset ? true : undefined)
    await until(found, () => `the first event is not at ${offset}`)
  }

  async offsets(): Promise<number[]> {
    const response = await fetch(`${this.#api}/api/v2/events/offsets?access_token=${this.#token}`)
    return Object.values(((await response.json()) as { present: Record<string, number> }).present)
  }

  async #post(name: string, body: object): Promise<string> {
    const response = await fetch(`${this.#api}/api/v2/events/${name}?access_token=${this.#token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 200)
    return await response.text()
  }
}

async function set(t: TestContext, folder: string, scope: string, value: unknown): Promise<void> {
  const args = ['settings', 'local', 'set', scope, JSON.stringify(value), '--working-dir', folder]
  const { code, stderr } = await shoal(t, args)
  assert.equal(code, 0, stderr)
}

test('events beyond the retention limits are pruned, also across kill -9; stream names and offsets stay', async (t) => {
  const folder = temporaryFolder(t)
  await shoal(t, ['settings', 'local', 'init', '--working-dir', folder])
  const routes = [{ from: "'logs'", into: 'logs' }]
  await set(t, folder, '/eventRouting', { routes, streams: { default: { maxEvents: 10 }, logs: { maxSize: '1B' } } })
  const first = await App.start(t, folder)
  for (let i = 0; i < 2; i++) {
    await first.publish(...Array<string>(1024).fill('x'))
    await first.publish(...Array<string>(1024).fill('logs'))
  }
  await first.publish('logs')
  await first.logged(/removed \d+ events that were beyond the limits of the stream 'default'/)
  await first.oldest("FROM 'logs'", 2048)
  // 10 events are kept, in frames of 128.
  await first.oldest("FROM 'x'", 1920)
  await first.kill()
  const second = await App.start(t, folder)
  assert.deepEqual(await second.publish('logs', 'x'), [1, 0])
  const mappings = await second.query("FROM 'event_routing'")
  assert.deepEqual(
    mappings.map(({ payload }) => payload),
    ['default', 'logs', 'discovery', 'metrics', 'files', 'node.facts'].map((streamName, streamNr) => ({
      streamName,
      streamNr,
    })),
  )
  assert.equal((await second.query("FROM 'logs'"))[0]?.offset, 2048)
  assert.ok((await second.offsets()).includes(2049))
  await second.kill()
  // New limits apply to existing events.
  await set(t, folder, '/eventRouting/streams', { logs: { maxEvents: 1 } })
  const third = await App.start(t, folder)
  await third.publish(...Array<string>(1024).fill('logs'))
  await third.publish('logs')
  await third.oldest("FROM 'logs'", 2050 + 1024)
})

test('an invalid --retention-interval is refused', async (t) => {
  for (const text of ['0', '-1', '1.5', 'x', '']) {
    const { code, stderr } = await shoal(t, ['run', `--retention-interval=${text}`, '--working-dir', '/dev/null/x'])
    assert.equal(code, 2)
    assert.match(stderr, /--retention-interval: '.*' is not a number of milliseconds/)
  }
})
