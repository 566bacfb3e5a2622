import type { ServerResponse } from 'node:http'
import {
  adminRoutes,
  type Call,
  type Connections,
  Hosts,
  HttpService,
  ParseQueue,
  type Route,
  SameOrigin,
} from '../api/index.ts'
import { isLoopback } from '../listening/listen.ts'
import type { Logger } from '../logging/index.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { Access } from './access/access.ts'
import { loopbackPeerUser } from './access/loopback-peer.ts'
import { operator } from './operator.ts'
import { type AdminParts, controlRoutes, sessionRoutes, tokenOf } from './routes/index.ts'

interface Parts extends Runtime, Omit<AdminParts, 'origin'> {
  readonly connections: Connections
  readonly log: Logger
  /** Names of this machine in addition to its own, as for the API. */
  readonly hosts: readonly string[]
}

/** The admin routes behind sessions, for the admin port. */
export function adminService(parts: Parts): HttpService {
  const { connections, log, clock, timers, settings, hosts, health } = parts
  const access = new Access({ ...parts, ownUser: process.getuid?.(), peerUser: loopbackPeerUser })
  const userOf = (call: Call): string => access.userOf(tokenOf(call))
  const open = new OpenResponses()
  settings.onChange(({ after }) => open.keepOnly(after.admin.authorizedUsers))
  const authenticate = (call: Call): typeof operator => {
    open.add(userOf(call), call.response)
    return operator
  }
  const origin = (call: Call): string => `admin port, user ${userOf(call)}`
  return new HttpService({
    routes: [
      ...adminRoutes(health).map((route) => onLoopbackOr(userOf, route)),
      ...sessionRoutes(access),
      ...controlRoutes({ ...parts, origin }),
    ],
    authenticate,
    hosts: new Hosts(hosts),
    cors: new SameOrigin(),
    parseQueue: new ParseQueue(timers),
    connections,
    log,
    clock,
    timers,
  })
}

/** Responses that are being sent, by user. Streams would outlive the right of their user to read them. */
class OpenResponses {
  readonly #byUser = new Map<string, Set<ServerResponse>>()

  add(user: string, response: ServerResponse): void {
    const open = this.#byUser.get(user) ?? new Set()
    this.#byUser.set(user, open.add(response))
    response.once('close', () => {
      open.delete(response)
      if (open.size === 0) this.#byUser.delete(user)
    })
  }

  /** Breaks off the responses to all other users. */
  keepOnly(users: readonly string[]): void {
    for (const [user, responses] of this.#byUser) {
      if (users.includes(user)) continue
      // A response without headers is that to the request by which a user has removed the own key.
      for (const response of responses) if (response.headersSent) response.destroy()
    }
  }
}

/** A route for supervisors on this machine, which have no key; from elsewhere it needs a session. */
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
