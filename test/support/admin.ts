import assert from 'node:assert/strict'
import { Agent, type RequestOptions, request } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import type { TestContext } from 'node:test'
import { adminService, type Inspected, type StoreJobs } from '../../src/admin/index.ts'
import type { ServerCertificate } from '../../src/api/index.ts'
import { adminSignInMessage, formatPublicKey, KeyPair, type NodeId, nodeIdOf } from '../../src/identity/index.ts'
import { type Listening, listenOnAll } from '../../src/listening/listen.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { Health } from '../../src/observability/health.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { type Runtime, systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Settings } from '../../src/settings/index.ts'
import { connections } from './api.ts'
import type { Answer, Asked } from './control.ts'
import { memoryLog } from './settings-log.ts'

export interface AdminAsked extends Asked {
  readonly token?: string
  readonly secure?: boolean
  /** For requests over the same connection. */
  readonly agent?: Agent
}

/** Sends a request to the admin port. A certificate is not checked. */
export function ask(at: Listening, method: string, path: string, asked: AdminAsked = {}): Promise<Answer> {
  const { body = '', headers = {}, token, secure = false, agent = false } = asked
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    host: at.address,
    port: at.port,
    path: `/api/v2/admin${path}`,
    method,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    agent,
    rejectUnauthorized: false,
  }
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? secureRequest : request)(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('error', reject).on('end', () => {
        const isJson = method !== 'HEAD' && response.headers['content-type'] === 'application/json'
        const { statusCode: status = 0, headers: received } = response
        resolve({ status, headers: received, body: isJson ? JSON.parse(text) : text })
      })
    })
    outgoing.on('error', reject).end(body)
  })
}

/** Signs in, and returns the answer. */
export async function signIn(
  at: Listening,
  user: KeyPair,
  asked: AdminAsked & { code?: string } = {},
): Promise<Answer> {
  const { code, ...given } = asked
  // A node is claimed over one connection.
  const agent = new (given.secure === true ? SecureAgent : Agent)({ keepAlive: true, maxSockets: 1 })
  const more = { agent, ...given }
  const publicKey = formatPublicKey(user.publicKey)
  const { body, status } = await ask(at, 'POST', '/session/challenge', { ...more, body: JSON.stringify({ publicKey }) })
  assert.equal(status, 200)
  const { challenge, nodeId } = body as { challenge: string; nodeId: NodeId }
  const signature = Buffer.from(user.sign(adminSignInMessage(nodeId, challenge))).toString('base64')
  const signed = JSON.stringify({ publicKey, challenge, signature, ...(code !== undefined && { code }) })
  const answer = await ask(at, 'POST', '/session', { ...more, body: signed })
  agent.destroy()
  return answer
}

export interface AdminPort {
  readonly settings: Settings
  readonly log: readonly string[]
  readonly at: Listening
}

/** The key of that node. */
export const node = new KeyPair(Buffer.alloc(32, 1))

/** The admin port of a node that has settings, and nothing else. */
export async function adminPort(
  t: TestContext,
  certificate?: ServerCertificate,
  given: Partial<Runtime> & {
    readonly maxConnections?: number
    readonly inspect?: () => Inspected
    readonly key?: KeyPair
    readonly health?: Health
  } = {},
): Promise<AdminPort> {
  const runtime = { ...systemRuntime, ...given }
  const settings = await Settings.open(memoryLog(), systemRuntime.clock)
  const log: string[] = []
  const sink = { write: (line: string) => log.push(line), flush: async () => {} }
  const output = logOutput(textLine(false), sink, systemRuntime.clock)
  const service = adminService({
    ...runtime,
    nodeId: nodeIdOf((given.key ?? node).publicKey),
    startCounter: 0,
    startedUnix: 0,
    folder: '/nowhere',
    settings,
    health: given.health ?? new Health([]),
    metrics: new Metrics(),
    recentLines: output.recent,
    storeJobs: {} as StoreJobs,
    openTopic: () => undefined,
    inspect: given.inspect ?? (() => assert.fail('no swarm')),
    restartStore: () => {},
    shutdown: () => {},
    events: () => assert.fail('no events'),
    files: () => assert.fail('no files'),
    connections: connections(),
    maxConnections: given.maxConnections ?? 100,
    hosts: [],
    log: new Logger(output, 'admin'),
  })
  const endpoints = [{ host: '127.0.0.1', port: 0 }]
  const named = { component: 'Admin', option: '--bind-admin' } as const
  const { servers, bound } = await listenOnAll(endpoints, named, () => service.server(certificate))
  t.after(() => {
    for (const server of servers) server.close().closeAllConnections()
  })
  const [at] = bound
  assert.ok(at)
  return { settings, log, at }
}
