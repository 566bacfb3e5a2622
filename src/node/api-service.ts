import {
  apiRoutes,
  type Blobs,
  type Connections,
  Cors,
  EventSockets,
  Hosts,
  HttpService,
  ParseTurns,
  type SwarmInfo,
  Websites,
} from '../api/index.ts'
import { storableTime } from '../base/timestamps.ts'
import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import { type KeyPair, nodeIdOf, type PublicKey, Tokens } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'

/** How the API is to behave towards its clients. */
export interface ApiOptions {
  /** The key that signs developer certificates and licences. */
  readonly rootKey?: PublicKey
  /** Further host names under which the API is reached. */
  readonly hosts?: readonly string[]
  /** The websites that may use the API; all of them when it is not given. */
  readonly corsOrigins?: readonly string[]
  /** The domain under whose names websites are served. */
  readonly namingDomain?: string
}

interface Parts extends Runtime {
  readonly key: KeyPair
  readonly cycle: number
  readonly settings: Settings
  readonly health: Health
  readonly events: Promise<Events>
  readonly files: Promise<Files>
  readonly blobs: Blobs
  readonly metrics: Metrics
  readonly connections: Connections
  readonly log: Logger
}

/** Domains that mean this machine everywhere: the one that existing apps and bookmarks have, and our own. */
const namingDomains = { usual: 'actyx.localhost', own: 'shoal.localhost' } as const

/** The API of a node. */
export function apiService(options: ApiOptions, parts: Parts): HttpService {
  const { rootKey, hosts, corsOrigins, namingDomain = namingDomains.usual } = options
  const { key, cycle, settings, health, events, files, blobs, metrics, connections, log, clock, timers } = parts
  const nodeId = nodeIdOf(key.publicKey)
  // Tokens are also issued while the clock is wrong: whoever reads events needs one.
  const tokens = new Tokens(key, cycle, () => storableTime(clock.now()))
  // Until nodes talk to each other, this one is all of its swarm.
  const swarm = (): SwarmInfo => ({ connectedNodes: 0, peersStatus: { [nodeId]: 'LowLatency' } })
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
    swarm,
  })
  metrics.gauge('peers_connected', 'Nodes of the swarm that this one is connected to.', () => ({
    value: swarm().connectedNodes,
  }))
  metrics.gauge('peers_discovered', 'Nodes of the swarm that this one knows of.', () => ({
    value: Object.keys(swarm().peersStatus).length - 1,
  }))
  const requests = metrics.counter(
    'shoal_http_requests_total',
    'Requests to the API, by the status answered.',
    'status',
  )
  const socketErrors = metrics.counter(
    'shoal_socket_errors_total',
    'Requests over WebSockets that were answered with an error, by its kind.',
    'kind',
  )
  const domains = [namingDomain, namingDomains.own]
  const allowed = new Hosts(hosts ?? [], domains)
  const cors = new Cors(corsOrigins)
  const turns = new ParseTurns(timers)
  const failed = (kind: string): void => socketErrors.add(1, kind)
  return new HttpService({
    routes,
    log,
    clock,
    timers,
    turns,
    tokens,
    hosts: allowed,
    sockets: new EventSockets({ events, tokens, hosts: allowed, cors, log, timers, turns, failed }),
    cors,
    websites: new Websites(files, tokens, domains),
    answered: (status) => requests.add(1, status),
    connections,
  })
}
