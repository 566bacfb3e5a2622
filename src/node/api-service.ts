import {
  apiRoutes,
  authenticate,
  type Blobs,
  type Connections,
  Cors,
  EventSockets,
  Hosts,
  HttpService,
  ParseQueue,
  Websites,
} from '../api/index.ts'
import { storableTime } from '../base/timestamps.ts'
import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import { type KeyPair, nodeIdOf, type PublicKey, Tokens } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import { durationBuckets, type Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'
import { addSwarmMetrics } from './swarm-metrics.ts'
import { type LatestSnapshot, swarmInfo } from './swarm-status.ts'

/** Command-line options of the API. */
export interface ApiOptions {
  /** The key that signs developer certificates and licences. */
  readonly rootKey?: PublicKey
  /** Additional host names of the API. */
  readonly hosts?: readonly string[]
  /** The allowed CORS origins; all of them by default. */
  readonly corsOrigins?: readonly string[]
  /** The domain whose subdomains serve websites. */
  readonly namingDomain?: string
}

interface Parts extends Runtime {
  readonly key: KeyPair
  readonly startCounter: number
  readonly settings: Settings
  readonly health: Health
  readonly events: () => Promise<Events>
  readonly files: () => Promise<Files>
  readonly blobs: () => Promise<Blobs>
  readonly metrics: Metrics
  readonly connections: Connections
  readonly log: Logger
  /** What is known about the swarm; without it the node exchanges nothing with others. */
  readonly swarm?: LatestSnapshot | undefined
}

/** Domains that resolve to this machine everywhere: the one of existing apps and bookmarks, and shoal's own. */
const namingDomains = { usual: 'actyx.localhost', own: 'shoal.localhost' } as const

export function apiService(options: ApiOptions, parts: Parts): HttpService {
  const { rootKey, hosts, corsOrigins, namingDomain = namingDomains.usual } = options
  const { key, startCounter, settings, health, events, files, blobs, metrics, connections, log, clock, timers } = parts
  const nodeId = nodeIdOf(key.publicKey)
  // Tokens are issued even while the clock is wrong: reading events needs one.
  const tokens = new Tokens(key, startCounter, () => storableTime(clock.now()))
  const routes = apiRoutes({
    nodeId,
    health,
    tokens,
    events,
    files,
    blobs,
    metrics,
    rootKey,
    log,
    licensing: () => settings.document.licensing,
    clock,
    timers,
    swarm: () => swarmInfo(nodeId, parts.swarm),
  })
  addSwarmMetrics(metrics, parts.swarm ?? (() => undefined))
  const requests = metrics.counter('shoal_http_requests_total', 'Requests to the API, by response status.', 'status')
  const socketErrors = metrics.counter(
    'shoal_socket_errors_total',
    'Error responses on WebSockets, by kind of error.',
    'kind',
  )
  const domains = [namingDomain, namingDomains.own]
  const allowed = new Hosts(hosts ?? [], domains)
  const cors = new Cors(corsOrigins)
  const parseQueue = new ParseQueue(timers)
  const failed = (kind: string): void => socketErrors.add(1, kind)
  const duration = metrics.histogram(
    'shoal_http_request_duration_seconds',
    'Seconds from the head of a request to the API to that of its response.',
    durationBuckets,
  )
  const sockets = new EventSockets({ events, tokens, hosts: allowed, cors, log, timers, parseQueue, failed })
  metrics.gauge('shoal_sockets_open', 'Open WebSockets.', () => ({ value: sockets.count }))
  return new HttpService({
    routes,
    log,
    clock,
    timers,
    parseQueue,
    authenticate: (call) => authenticate(tokens, call),
    hosts: allowed,
    sockets,
    cors,
    websites: new Websites(files, tokens, domains),
    onResponse: (status, ms) => {
      requests.add(1, status)
      duration.observe(ms / 1000)
    },
    connections,
  })
}
