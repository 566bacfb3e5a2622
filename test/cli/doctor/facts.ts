import type { Facts, FolderFacts, RunningFacts } from '../../../src/cli/doctor/facts.ts'
import type { Finding } from '../../../src/cli/doctor/finding.ts'
import type { Target } from '../../../src/cli/doctor/target.ts'
import { complete, type SettingsDocument } from '../../../src/settings/index.ts'

const GiB = 1024 ** 3

export const peerId = '12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN'

export const folderTarget: Target = { is: 'folder', folder: '/data', argument: '--working-dir /data' }

/** A node that is named by the address of its admin port. */
export const addressTarget = (host: string, argument = host): Target => ({ is: 'address', host, argument })

/** Settings of a node that is claimed and has a key of its own. */
export function healthySettings(): SettingsDocument {
  const admin = { authorizedUsers: ['0WBFFicIHbivRZXAlO7tPs7rCX6s7u2OIMJ2mx9nwg0w='] }
  return complete({ admin, swarm: { swarmKey: Buffer.alloc(32, 7).toString('base64') } }) as SettingsDocument
}

export const healthyFolder: FolderFacts = {
  path: '/data',
  lock: { is: 'free' },
  access: 'writable',
  disk: { free: 50 * GiB, total: 100 * GiB },
  hasIdentity: true,
  hasEvents: true,
}

export const healthyNode: RunningFacts = {
  phase: 'running',
  problems: [],
  apiAddresses: ['/ip4/127.0.0.1/tcp/4454', '/ip6/::1/tcp/4454'],
  adminAddresses: ['/ip4/127.0.0.1/tcp/4458'],
  swarmAddresses: ['/ip4/0.0.0.0/tcp/4001'],
  hasSwarm: true,
  clockAhead: { one: 0.1, two: -0.2 },
  toReplicate: { first: 0, later: 0, afterMs: 0 },
  inboundFailures: {},
  refusedApps: [],
}

/** A running node without a fault. */
export const healthy: Facts = {
  target: folderTarget,
  reach: { is: 'running' },
  folder: { ...healthyFolder, lock: { is: 'held', pid: 77 } },
  settings: healthySettings(),
  running: healthyNode,
  peers: [{ peerId, name: 'Press 7', isInitial: true, isConnected: true }],
}

/** A node that is stopped, which is its only fault. */
export const stopped: Facts = {
  target: folderTarget,
  reach: { is: 'stopped' },
  folder: healthyFolder,
  settings: healthySettings(),
  ports: [{ component: 'API', option: '--bind-api', port: 4454 }],
  peers: [],
}

/** A running node with other facts about itself. */
export const node = (changed: Partial<RunningFacts>): Facts => ({
  ...healthy,
  running: { ...healthyNode, ...changed },
})

/** A fault, the check and severity of its finding, and what the finding says. */
export type Fault = readonly [name: string, Facts, Finding['check'], Finding['severity'], RegExp]
