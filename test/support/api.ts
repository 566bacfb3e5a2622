import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  apiRoutes,
  authenticate,
  Connections,
  Cors,
  EventSockets,
  Hosts,
  HttpService,
  ParseQueue,
} from '../../src/api/index.ts'
import type { Route } from '../../src/api/router.ts'
import type { HttpOptions } from '../../src/api/server.ts'
import { limits } from '../../src/base/limits.ts'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import { Events, type Reading, readerModule } from '../../src/events/index.ts'
import { queryJobs } from '../../src/events/query/query-jobs.ts'
import { KeyPair, type Licensing, nodeIdOf, type PublicKey, Tokens } from '../../src/identity/index.ts'
import { listenOnAll } from '../../src/listening/listen.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { Health } from '../../src/observability/health.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { nowMicros, systemClock } from '../../src/runtime/clock.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { SettingsDocument } from '../../src/settings/index.ts'
import { type EventStore, type EventStoreOptions, SqliteEventStore, ThreadedBlobs } from '../../src/store/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { CountedReading } from './counted-reading.ts'
import { temporaryFolder } from './folder.ts'

export const silent = new Logger(
  logOutput(textLine(false), { write: () => {}, flush: async () => {} }, systemClock),
  'api',
)

async function listening(t: TestContext, makeServer: () => Server): Promise<number> {
  const { servers, bound } = await listenOnAll(
    [{ host: '127.0.0.1', port: 0 }],
    { component: 'API', option: '--bind-api' },
    makeServer,
  )
  t.after(() => {
    for (const server of servers) server.close().closeAllConnections()
  })
  return bound[0]?.port ?? 0
}

/** The connections of a server, with a memory account of its own. */
export function connections(limitBytes: number = limits.clientMemory): Connections {
  return new Connections({ ...systemRuntime, account: MemoryAccount.create(limitBytes), log: silent })
}

/** Starts a server with the given routes. Returns its port. */
export function served(
  t: TestContext,
  routes: readonly Route[],
  options: Omit<Partial<HttpOptions>, 'routes'> = {},
): Promise<number> {
  const parseQueue = new ParseQueue(systemRuntime.timers)
  const service = new HttpService({
    ...systemRuntime,
    parseQueue,
    log: silent,
    connections: connections(),
    ...options,
    routes,
  })
  return listening(t, () => service.server())
}

/** Sends raw bytes. Returns everything that the server sends until it closes the connection. */
export async function exchange(port: number, bytes: string): Promise<string> {
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

export const key = new KeyPair(Buffer.alloc(32, 3))
export const nodeId = nodeIdOf(key.publicKey)
export const manifest = { appId: 'com.example.test', displayName: 'Test', version: '1.0' }

export function memoryStore(): MemoryEventStore {
  return new MemoryEventStore({
    runtime: systemRuntime,
    topic: 'default-topic',
    kind: 'live',
    key,
    now: nowMicros,
    jobs: queryJobs,
  })
}

/** An event store on disk, with a reader thread for queries. */
export async function sqliteStore(t: TestContext, options: Partial<EventStoreOptions> = {}): Promise<SqliteEventStore> {
  let store: SqliteEventStore | undefined
  // Registered before the removal of the folder: hooks run in the order of registration.
  t.after(() => store?.close())
  const file = join(temporaryFolder(t), 'log.db')
  store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file,
    topic: 'default-topic',
    kind: 'live',
    key,
    readerModule,
    ...options,
  })
  return store
}

export interface TestApi {
  readonly url: string
  readonly token: string
  /** A token of another app. */
  readonly otherToken: string
  readonly events: Events
  readonly store: EventStore
  /** All queries and subscriptions so far. */
  readonly readings: readonly CountedReading[]
  /** One of them by index, which has to exist; -1 is the last. */
  reading(at: number): CountedReading
  /** Calls the API as the test app. */
  call(path: string, init?: RequestInit): Promise<Response>
  publish(body: string | Uint8Array): Promise<Response>
}

export interface ApiSettings {
  readonly store?: EventStore
  readonly licensing?: Licensing
  readonly rootKey?: PublicKey
  readonly hosts?: readonly string[]
  readonly keepAliveMs?: number
  readonly connections?: Connections
  readonly corsOrigins?: readonly string[]
  readonly routes?: SettingsDocument['eventRouting']['routes']
}

/** Starts the whole API, by default on a store in memory. */
export async function startApi(t: TestContext, settings: ApiSettings = {}): Promise<TestApi> {
  const store = settings.store ?? memoryStore()
  const readings: CountedReading[] = []
  const startReading = (job: string, request: unknown): Reading => {
    const reading = new CountedReading(store.start(job, request))
    readings.push(reading)
    return reading
  }
  const events = await Events.open(store, {
    ...systemRuntime,
    node: nodeId,
    routes: settings.routes ?? [],
    log: silent,
    startReading,
  })
  const blobs = new ThreadedBlobs(join(temporaryFolder(t), 'blobs.db'))
  t.after(() => blobs.close())
  const tokens = new Tokens(key, 0, nowMicros)
  const routes = apiRoutes({
    nodeId,
    tokens,
    events: async () => events,
    // Files need a store with subscriptions: tests of files start a whole node.
    files: () => new Promise(() => {}),
    blobs: async () => blobs,
    metrics: new Metrics(),
    health: new Health([]),
    rootKey: settings.rootKey,
    licensing: () => settings.licensing ?? { node: 'development', apps: {} },
    ...systemRuntime,
    log: silent,
    ...(settings.keepAliveMs !== undefined && { keepAliveMs: settings.keepAliveMs }),
    swarm: () => ({ connectedNodes: 0, peersStatus: { [nodeId]: 'LowLatency' } }),
  })
  const hosts = new Hosts(settings.hosts ?? [])
  const cors = new Cors(settings.corsOrigins)
  const parseQueue = new ParseQueue(systemRuntime.timers)
  const port = await served(t, routes, {
    authenticate: (call) => authenticate(tokens, call),
    hosts,
    parseQueue,
    sockets: new EventSockets({
      ...systemRuntime,
      parseQueue,
      events: async () => events,
      tokens,
      hosts,
      cors,
      log: silent,
    }),
    cors,
    ...(settings.connections && { connections: settings.connections }),
  })
  const url = `http://127.0.0.1:${port}`
  const token = tokens.issue({ ...manifest, mode: 'trial' })
  const otherToken = tokens.issue({ ...manifest, appId: 'com.example.other', mode: 'trial' })
  const call = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  const publish = (body: string | Uint8Array) =>
    call('/api/v2/events/publish', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(body),
    })
  const reading = (at: number): CountedReading => {
    const found = readings.at(at)
    assert.ok(found, 'something is being read')
    return found
  }
  return { url, token, otherToken, events, store, readings, reading, call, publish }
}

/** All events of a store, as the result lines of a query. */
export async function eventsIn(store: EventStore): Promise<string[]> {
  let text = ''
  for await (const piece of store.read({ anyOf: [{ tags: [] }], order: 'asc' })) text += piece.toString('utf8')
  return text.split('\n').filter((line) => line !== '')
}
