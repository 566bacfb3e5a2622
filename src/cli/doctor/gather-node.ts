import type { Inspected } from '../../admin/index.ts'
import { limits } from '../../base/limits.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { sleep } from '../../runtime/timers.ts'
import type { SettingsDocument } from '../../settings/index.ts'
import type { MetricsText } from '../client/metrics-text.ts'
import type { NodeClient } from '../client/node-client.ts'
import { readMetrics } from '../client/node-metrics.ts'
import { readLines } from '../client/response-body.ts'
import type { Facts, RunningFacts } from './facts.ts'
import { knownPeers } from './gather-peers.ts'
import { RefusedApps } from './refused-apps.ts'

/** Milliseconds between the two samples of missing events. */
const trendMs = 2000

interface Described {
  readonly phase: string
  readonly problems?: RunningFacts['problems']
}

/** Gathers facts from a running node. */
export async function runningFacts(node: NodeClient, runtime: Runtime): Promise<Omit<Facts, 'target' | 'folder'>> {
  const get = <T>(path: string): Promise<T> => node.request<T>({ method: 'GET', path })
  const { phase, problems = [] } = await get<Described>('/node')
  const settings = await get<SettingsDocument>('/settings?scope=/&defaults=true')
  const inspected = await get<Inspected>('/node/inspect')
  const metrics = await readMetrics(node, runtime.timers)
  const running: RunningFacts = {
    phase,
    problems,
    disk: diskOf(metrics),
    apiAddresses: inspected.apiAddrs ?? [],
    adminAddresses: inspected.adminAddrs,
    swarmAddresses: inspected.swarmAddrs,
    hasSwarm: (metrics.total('peers_listen_addrs') ?? 0) > 0,
    clockAhead: metrics.by('shoal_peer_clock_skew_seconds', 'peer'),
    toReplicate: await trendOf(node, runtime),
    inboundFailures: metrics.by('shoal_swarm_inbound_failures_total', 'reason'),
    refusedApps: await refusedApps(node),
  }
  return { reach: { is: 'running' }, settings, running, peers: knownPeers(inspected, settings) }
}

function diskOf(metrics: MetricsText): RunningFacts['disk'] {
  const [free, total] = [metrics.total('shoal_disk_free_bytes'), metrics.total('shoal_disk_total_bytes')]
  return free === undefined || total === undefined ? undefined : { free, total }
}

async function trendOf(node: NodeClient, { clock, timers }: Runtime): Promise<RunningFacts['toReplicate']> {
  const started = clock.steadyMs()
  const first = await missingEvents(node)
  if (first === 0) return { first, later: 0, afterMs: 0 }
  await sleep(timers, trendMs)
  return { first, later: await missingEvents(node), afterMs: Math.round(clock.steadyMs() - started) }
}

async function missingEvents(node: NodeClient): Promise<number> {
  const { toReplicate } = await node.request<{ toReplicate: Record<string, number> }>({
    method: 'GET',
    path: '/events/offsets',
  })
  return Object.values(toReplicate).reduce((sum, missing) => sum + missing, 0)
}

async function refusedApps(node: NodeClient): Promise<RunningFacts['refusedApps']> {
  const apps = new RefusedApps()
  const response = await node.stream({ method: 'GET', path: '/logs?level=INFO' })
  for await (const line of readLines(response, limits.answerLineBytes)) apps.add(line)
  return apps.refused
}
