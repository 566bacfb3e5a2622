import type { Server as HttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import type { HttpService, ServerCertificate } from '../api/index.ts'
import { limits } from '../base/limits.ts'
import type { ConnectionLimit } from '../listening/connection-limit.ts'
import {
  type Endpoint,
  isLoopback,
  type Listening,
  listenOnAll,
  multiaddressText,
  resolveEndpoints,
  socketText,
} from '../listening/listen.ts'
import type { Logger } from '../logging/index.ts'
import type { ComponentName, Health } from '../observability/health.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { sleep } from '../runtime/timers.ts'
import { swarmPort } from '../swarm/index.ts'
import { type BindRule, bindRules, checkDistinct } from './bind.ts'

export interface Endpoints {
  readonly api: readonly Endpoint[]
  readonly admin: readonly Endpoint[]
  readonly swarm: readonly Endpoint[]
}

/** The bound addresses of a node. */
export type Addresses = Readonly<Record<keyof Endpoints, readonly Listening[]>>

interface Part {
  readonly name: keyof Endpoints
  /** The log target of the line from which supervisors learn the port. */
  readonly target: string
  readonly text: (at: Listening) => string
  readonly servers: (services: Services, log: Logger) => (endpoint: Endpoint) => Server
}

/** What the ports serve. */
export interface Services {
  readonly api: HttpService
  readonly admin: HttpService
  /** The certificate of the admin port, on addresses that other machines can reach. */
  readonly certificate: () => ServerCertificate
}

const parts: readonly Part[] = [
  {
    name: 'api',
    target: 'API_BOUND',
    text: (at) => `API bound to ${socketText(at)}.`,
    servers:
      ({ api }) =>
      () =>
        api.server(),
  },
  {
    name: 'admin',
    target: 'ADMIN_API_BOUND',
    text: (at) => `Admin API bound to ${multiaddressText(at)}.`,
    servers:
      ({ admin, certificate }) =>
      ({ host }) =>
        admin.server(isLoopback(host) ? undefined : certificate()),
  },
  {
    name: 'swarm',
    target: 'SWARM_SERVICES_BOUND',
    text: (at) => `Swarm Services bound to ${multiaddressText(at)}.`,
    servers: (_, log) => () => swarmPort(log),
  },
]

/**
 * Throws unless the node can listen on all addresses. Checked before a data folder is created, so that a port in use
 * leaves no folder behind.
 */
export async function checkAddresses(endpoints: Endpoints): Promise<void> {
  const resolved = await resolveAll(endpoints)
  const servers: Server[] = []
  try {
    for (const { name } of parts) {
      const listening = await listenOnAll(resolved[name], bindRules[name], () =>
        createServer((socket) => socket.destroy()),
      )
      servers.push(...listening.servers)
    }
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  }
}

async function resolveAll(endpoints: Endpoints): Promise<Endpoints> {
  const resolved: Record<keyof Endpoints, readonly Endpoint[]> = { ...endpoints }
  for (const { name } of parts) resolved[name] = await resolveEndpoints(endpoints[name], bindRules[name])
  checkDistinct(resolved)
  return resolved
}

/** The ports of the node, opened one after the other. The API is first, so that `/readyz` can report the progress. */
export class Listeners {
  readonly #health: Health
  readonly #log: Logger
  readonly #runtime: Runtime
  readonly #hasSwarm: boolean
  #servers: Server[] = []
  /** Those of the swarm port among them. */
  readonly #swarm: Server[] = []
  #services: Services | undefined
  #addresses: Record<keyof Endpoints, readonly Listening[]> = { api: [], admin: [], swarm: [] }

  /** @param hasSwarm whether a swarm takes over its port */
  constructor(health: Health, log: Logger, runtime: Runtime, hasSwarm = false) {
    this.#hasSwarm = hasSwarm
    this.#health = health
    this.#log = log
    this.#runtime = runtime
  }

  get addresses(): Addresses {
    return this.#addresses
  }

  async open(
    endpoints: Endpoints,
    services: Services,
    connectionLimits: Readonly<Record<keyof Endpoints, ConnectionLimit>>,
  ): Promise<void> {
    this.#services = services
    const resolved = await resolveAll(endpoints)
    for (const part of parts) {
      const log = this.#log.module(part.name)
      const unlimited = part.servers(services, log)
      const makeServer = (endpoint: Endpoint): Server => {
        const server = unlimited(endpoint)
        connectionLimits[part.name].add(server)
        if (part.name === 'swarm') this.#swarm.push(server)
        return server
      }
      this.#addresses[part.name] = await this.#bind(resolved[part.name], bindRules[part.name], makeServer)
      for (const at of this.#addresses[part.name]) log.as(part.target).info(part.text(at))
    }
  }

  /** Frees the addresses that were bound for the swarm, so that its thread can listen there. */
  async releaseSwarm(): Promise<readonly Listening[]> {
    const servers = this.#swarm.splice(0)
    this.#servers = this.#servers.filter((server) => !servers.includes(server))
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    return this.#addresses.swarm
  }

  /** Graceful shutdown: stops accepting, lets requests finish within the grace period, then closes all connections. */
  async close(): Promise<void> {
    for (const component of ['API', 'Admin', 'Swarm'] satisfies ComponentName[]) this.#health.set(component, 'stopping')
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of this.#servers) if (isHttp(server)) server.closeIdleConnections()
    this.#services?.api.closeSockets()
    const deadline = sleep(this.#runtime.timers, limits.stopGraceMs, { unref: true })
    await Promise.race([Promise.all(closed), deadline])
    for (const server of this.#servers) if (isHttp(server)) server.closeAllConnections()
    this.#services?.api.terminateSockets()
    this.#servers = []
  }

  async #bind(
    endpoints: readonly Endpoint[],
    rule: BindRule,
    makeServer: (endpoint: Endpoint) => Server,
  ): Promise<Listening[]> {
    try {
      const { servers, bound } = await listenOnAll(endpoints, rule, makeServer)
      this.#servers.push(...servers)
      // The swarm works when its thread has taken over.
      if (rule.component !== 'Swarm' || !this.#hasSwarm) this.#health.set(rule.component, 'started')
      return bound
    } catch (error) {
      this.#health.set(rule.component, 'failed')
      throw error
    }
  }
}

function isHttp(server: Server): server is HttpServer {
  return 'closeAllConnections' in server
}
