import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import type { NodeId } from '../../identity/index.ts'
import type { Health } from '../../observability/health.ts'
import type { Clock } from '../../runtime/clock.ts'
import { uptimeFrom } from '../../runtime/uptime.ts'
import { versionParts } from '../../runtime/version.ts'
import type { Settings } from '../../settings/index.ts'
import type { Inspected } from './inspected.ts'
import { adminPath } from './requests.ts'

export interface NodeParts {
  readonly nodeId: NodeId
  readonly startCounter: number
  /** When the process started, in seconds since the Unix epoch. */
  readonly startedUnix: number
  readonly clock: Clock
  /** The data folder. */
  readonly folder: string
  readonly settings: Settings
  readonly health: Health
  /** Addresses and peers. */
  readonly inspect: () => Inspected
  /** Closes and opens the store and the swarm, in the background. */
  readonly restartStore: () => void
  /** Stops the node, in the background. */
  readonly shutdown: () => void
}

/** Description and state of the node, shutdown, restart of its store. */
export function nodeRoutes({
  nodeId,
  startCounter,
  startedUnix,
  clock,
  folder,
  settings,
  health,
  inspect,
  restartStore,
  shutdown,
}: NodeParts): Route[] {
  const startedIso = new Date(startedUnix * 1000).toISOString().replace('.000Z', '+00:00')
  const uptime = uptimeFrom(clock)
  const node = (): HttpResponse =>
    jsonResponse(200, {
      nodeId,
      displayName: settings.document.admin.displayName,
      startedIso,
      startedUnix,
      uptime: uptime(),
      version: versionParts,
      pid: process.pid,
      dataFolder: folder,
      cycleCount: startCounter,
      phase: health.phase,
      problems: health.reasons(),
    })
  const stop = (call: Call): HttpResponse => {
    // After the response, also when the client does not wait for it.
    call.response.once('close', shutdown)
    return jsonResponse(202, { phase: 'stopping' })
  }
  const restart = (): HttpResponse => {
    restartStore()
    return jsonResponse(202, { phase: 'restarting' })
  }
  return [
    { path: `${adminPath}/node/restart-store`, methods: { POST: { authenticated: true, handle: restart } } },
    { path: `${adminPath}/node`, methods: { GET: { authenticated: true, handle: node } } },
    {
      path: `${adminPath}/node/inspect`,
      methods: { GET: { authenticated: true, handle: () => jsonResponse(200, inspect()) } },
    },
    { path: `${adminPath}/node/shutdown`, methods: { POST: { authenticated: true, handle: stop } } },
  ]
}
