import { adminService, ControlSocket, controlService, type Inspected, type StoreJobs } from '../admin/index.ts'
import type { Connections, HttpService, ServerCertificate } from '../api/index.ts'
import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import { type KeyPair, nodeCertificate, nodeIdOf } from '../identity/index.ts'
import type { Logger, RecentLines } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'

interface Parts extends Runtime {
  readonly folder: string
  readonly key: KeyPair
  readonly startCounter: number
  readonly startedUnix: number
  readonly settings: Settings
  readonly health: Health
  readonly events: () => Promise<Events>
  readonly files: () => Promise<Files>
  readonly connections: Connections
  readonly metrics: Metrics
  readonly recentLines: RecentLines
  readonly log: Logger
  readonly inspect: () => Inspected
  readonly storeJobs: StoreJobs
  readonly openTopic: () => string | undefined
  readonly restartStore: () => void
  /** Stops the node, in the background. */
  readonly shutdown: () => void
}

/** Opens the control socket of the data folder. */
export function openControl({ key, ...parts }: Parts): Promise<ControlSocket | undefined> {
  const { folder, log, timers } = parts
  const service = controlService({ ...parts, nodeId: nodeIdOf(key.publicKey) })
  return ControlSocket.open({ folder, log, timers, server: () => service.server() })
}

/** The service of the admin port, and its certificate. */
export function adminPort(
  { key, ...parts }: Parts & { readonly maxConnections: number },
  hosts: readonly string[] = [],
): { admin: HttpService; certificate: () => ServerCertificate } {
  const admin = adminService({ ...parts, hosts, nodeId: nodeIdOf(key.publicKey) })
  return { admin, certificate: () => nodeCertificate(key, parts.random) }
}
