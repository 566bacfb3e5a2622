import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { TestContext } from 'node:test'
import { initLocal, setLocal } from '../../src/cli/commands/local-settings.ts'
import { socketText } from '../../src/listening/listen.ts'
import { logOutput, textLine } from '../../src/logging/index.ts'
import { bindDefaults, bindRules, Node, type NodeOptions, onFreePorts, parseBinds } from '../../src/node/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { manifest } from './api.ts'
import { temporaryFolder } from './folder.ts'
import { until } from './process.ts'

export interface TestNode {
  readonly node: Node
  readonly url: string
  readonly log: readonly string[]
  readonly token: string
  /** Calls the API as the test app. */
  call(path: string, init?: RequestInit): Promise<Response>
  /** Uploads files by name. */
  upload(files: Readonly<Record<string, string | Uint8Array>>): Promise<Response>
  /** Sends a request with a Host header. */
  visit(host: string, path: string, headers?: Record<string, string>, method?: string): Promise<Visit>
  /** The payloads of events with a tag. */
  payloads(tag: string): Promise<unknown[]>
}

export interface Visit {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** The swarm of tests: on loopback, with a key of its own. */
const privateSwarm = { swarmKey: Buffer.alloc(32, 'test').toString('base64'), mdns: false, gossipInterval: 1 }

/** Starts a whole node in this process, with its log lines. */
export async function startBareNode(
  t: TestContext,
  options: Pick<NodeOptions, 'folder' | 'retentionMs' | 'replicates'>,
): Promise<{ readonly node: Node; readonly log: readonly string[] }> {
  const log: string[] = []
  const output = logOutput(textLine(false), { write: (text) => log.push(text), flush: async () => {} }, systemClock)
  const free = (name: keyof typeof bindRules, bind: string = bindDefaults[name]) =>
    onFreePorts(parseBinds([bind], bindRules[name]))
  // Nodes of a test must not be found by others.
  if (options.replicates === true) {
    await initLocal(options.folder, false)
    await setLocal(options.folder, ['swarm'], JSON.stringify(privateSwarm))
  }
  const swarm = free('swarm', options.replicates === true ? '127.0.0.1' : undefined)
  const endpoints = { api: free('api'), admin: free('admin'), swarm }
  const node = await Node.start({ ...options, endpoints, output })
  t.after(() => node.stop('NODE_STOPPED_BY_HOST'))
  if (options.replicates === true) await untilSwarmStarted(node)
  return { node, log }
}

/** The start of a node does not wait for its swarm. */
async function untilSwarmStarted({ addresses: { api } }: Node): Promise<void> {
  const [address] = api
  assert.ok(address)
  const ready = async (): Promise<string> => (await fetch(`http://${socketText(address)}/readyz`)).text()
  await until(
    async () => ((await ready()).includes('Swarm') ? undefined : true),
    () => 'the swarm has not started',
  )
}

/** The same, with an app that has a token. */
export async function startNode(
  t: TestContext,
  folder = temporaryFolder(t),
  options: Pick<NodeOptions, 'retentionMs' | 'replicates'> = {},
): Promise<TestNode> {
  const { node, log } = await startBareNode(t, { folder, ...options })
  const [address] = node.addresses.api
  assert.ok(address)
  const url = `http://${socketText(address)}`
  const answer = await fetch(`${url}/api/v2/auth`, { method: 'POST', body: JSON.stringify(manifest), headers: json })
  const { token } = (await answer.json()) as { token: string }
  const call = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { redirect: 'manual', ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  const payloads = async (tag: string): Promise<unknown[]> => {
    const body = JSON.stringify({ query: `FROM '${tag}'`, order: 'asc' })
    const lines = await (await call('/api/v2/events/query', { method: 'POST', body, headers: json })).text()
    const messages = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; payload?: unknown })
    return messages.filter(({ type }) => type === 'event').map(({ payload }) => payload)
  }
  const upload = (files: Readonly<Record<string, string | Uint8Array>>) => {
    const { body, type } = form(Object.entries(files))
    return call('/api/v2/files', { method: 'POST', body, headers: { 'content-type': type } })
  }
  const visit = (host: string, path: string, headers = {}, method = 'GET') =>
    visited(url, path, { method, headers: { host, ...headers } })
  return { node, url, log, token, call, upload, visit, payloads }
}

export const json = { 'content-type': 'application/json' }

/** A multipart form with files by name; any name is possible. */
export function form(files: readonly (readonly [string, string | Uint8Array])[]): { body: Buffer; type: string } {
  const parts = files.flatMap(([name, content]) => [
    Buffer.from(
      `--limit\r\nContent-Disposition: form-data; name="file"; filename*=UTF-8''${encodeURIComponent(name)}\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
  return { body: Buffer.concat([...parts, Buffer.from('--limit--\r\n')]), type: 'multipart/form-data; boundary=limit' }
}

/** Sends a request with a custom Host header, which `fetch` does not allow. */
function visited(
  url: string,
  path: string,
  options: { method: string; headers: Record<string, string> },
): Promise<Visit> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const asked = request({ hostname, port, path, agent: false, ...options }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    asked.on('error', reject).end()
  })
}
