import {
  adminHealthRoutes,
  type Call,
  type Connections,
  Hosts,
  HttpService,
  ParseQueue,
  type Route,
  SameOrigin,
} from '../api/index.ts'
import { limits } from '../base/limits.ts'
import { isLoopback } from '../listening/listen.ts'
import { type Logger, RateLimit } from '../logging/index.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { Access } from './access/access.ts'
import { loopbackPeerUser } from './access/loopback-peer.ts'
import { targetBelow } from './backup-target.ts'
import { OpenResponses } from './open-responses.ts'
import { operator } from './operator.ts'
import { PortConnections } from './port-connections.ts'
import { Relay } from './relay.ts'
import { type AdminParts, adminRoutes, sessionRoutes, tokenOf } from './routes/index.ts'

interface Parts extends Runtime, Omit<AdminParts, 'origin' | 'backupTarget' | 'relay'> {
  readonly connections: Connections
  readonly log: Logger
  readonly metrics: Metrics
  /** Connections that the port can have. */
  readonly maxConnections: number
  /** Names of this machine in addition to its own, as for the API. */
  readonly hosts: readonly string[]
}

/** The admin routes behind sessions, for the admin port. */
export function adminService(parts: Parts): HttpService {
  const { connections, log, clock, timers, settings, hosts, health } = parts
  const portConnections = new PortConnections(parts.maxConnections, evictionReport(parts))
  const open = new OpenResponses(timers)
  const onSignOut = (token: string): void => open.endSession(token)
  const access = new Access({ ...parts, ownUser: process.getuid?.(), peerUser: loopbackPeerUser, onSignOut })
  const userOf = (call: Call): string => access.userOf(tokenOf(call))
  settings.onChange(({ after }) => open.keepOnly(after.admin.authorizedUsers))
  const authenticate = (call: Call): typeof operator => {
    const token = tokenOf(call) ?? ''
    const { socket } = call.request
    portConnections.markSession(socket, false)
    const { publicKey, end } = access.sessionOf(token)
    portConnections.markSession(socket, true)
    open.add(call.response, { user: publicKey, token }, end - clock.steadyMs())
    return operator
  }
  /** Called right before a change of the settings, by which a user may remove their own key: they get the response. */
  const origin = (call: Call): string => {
    open.spare(call.response)
    return `admin port, user ${userOf(call)}`
  }
  return new HttpService({
    routes: [
      ...adminHealthRoutes(health).map((route) => onLoopbackOr(userOf, route)),
      ...sessionRoutes(access, (call) => open.spare(call.response)),
      ...adminRoutes({ ...parts, origin, backupTarget: targetBelow(parts.folder), relay: new Relay(timers) }),
    ],
    authenticate,
    onConnection: (socket) => portConnections.add(socket),
    hosts: new Hosts(hosts),
    cors: new SameOrigin(),
    parseQueue: new ParseQueue(timers),
    connections,
    log,
    clock,
    timers,
  })
}

/** Counts and logs connections that were closed to make room. */
function evictionReport({ metrics, log, clock }: Parts): () => void {
  const help = 'Connections without a session to the admin port that were closed to make room.'
  const evicted = metrics.counter('shoal_admin_connections_evicted_total', help)
  const rate = new RateLimit(limits.refusalLogMs, clock)
  return () => {
    evicted.add()
    rate.occurred((count) => log.warn('closed connections to the admin port without a session to make room', { count }))
  }
}

/** A route that needs no session over loopback, for supervisors, which have no key. */
function onLoopbackOr(userOf: (call: Call) => string, { path, methods }: Route): Route {
  const checked = Object.entries(methods).map(([method, endpoint]) => {
    const handle: typeof endpoint.handle = (call: Call) => {
      if (!isLoopback(call.request.socket.remoteAddress ?? '')) userOf(call)
      return endpoint.handle(call, operator)
    }
    return [method, { ...endpoint, handle }] as const
  })
  return { path, methods: Object.fromEntries(checked) as Route['methods'] }
}
