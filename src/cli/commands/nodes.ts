import type { Inspected } from '../../admin/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import type { Timers } from '../../runtime/timers.ts'
import { NotConnected } from '../node-connection.ts'
import { type NamedNode, onRunningNode } from '../on-node.ts'
import type { Result } from '../output.ts'
import { table } from '../table.ts'
import { inspectText } from './inspect-text.ts'

interface NodeDescription {
  readonly nodeId: string
  readonly displayName: string
  readonly startedIso: string
  readonly startedUnix: number
  readonly version: { readonly version: string }
}

type Listed =
  | ({ readonly connection: 'reachable'; readonly host: string } & NodeDescription)
  | { readonly connection: 'unreachable' | 'unauthorized'; readonly host: string }
  | { readonly connection: 'error'; readonly host: string; readonly error: { code: string; message: string } }

/** Asks all nodes at once; a node that does not answer is a row of the result. */
export async function listNodes(nodes: readonly NamedNode[], timeoutMs: number, isStrict: boolean): Promise<Result> {
  const listed = await Promise.all(nodes.map((named) => listNode(named, timeoutMs)))
  const failed = isStrict && listed.some(({ connection }) => connection !== 'reachable')
  const rows = () => table(['NODE ID', 'DISPLAY NAME', 'HOST', 'STARTED', 'VERSION'], listed.map(rowOf))
  return { text: rows, json: listed, failed }
}

async function listNode(named: NamedNode, timeoutMs: number): Promise<Listed> {
  const host = named.node ?? named.folder
  try {
    const asked = onRunningNode({ ...named, timeoutMs }, systemRuntime, (node) =>
      node.request<NodeDescription>({ method: 'GET', path: '/node' }),
    )
    const { nodeId, displayName, startedIso, startedUnix, version } = await within(
      timeoutMs,
      asked,
      systemRuntime.timers,
    )
    return { connection: 'reachable', host, nodeId, displayName, startedIso, startedUnix, version }
  } catch (error) {
    // Without a user key no host can be asked.
    if (!(error instanceof ShoalError) || error.code === 'ERR_USER_UNAUTHENTICATED') throw error
    const { code, message } = error
    if (code === 'ERR_UNAUTHORIZED') return { connection: 'unauthorized', host }
    if (error instanceof NotConnected) return { connection: 'unreachable', host }
    return { connection: 'error', host, error: { code, message } }
  }
}

async function within<T>(ms: number, asked: Promise<T>, timers: Timers): Promise<T> {
  const expired = Promise.withResolvers<never>()
  const timer = timers.setTimeout(() => expired.reject(new ShoalError('ERR_NODE_UNREACHABLE', 'timeout')), ms)
  try {
    return await Promise.race([asked, expired.promise])
  } finally {
    timers.clear(timer)
  }
}

function rowOf(listed: Listed): string[] {
  const { host } = listed
  switch (listed.connection) {
    case 'reachable':
      return [listed.nodeId, listed.displayName, host, listed.startedIso, listed.version.version]
    case 'unreachable':
      return ['shoal was unreachable on host', '', host, '', '']
    case 'unauthorized':
      return ['Unauthorized on host', '', host, '', '']
    default:
      return [listed.error.message, '', host, '', '']
  }
}

export async function inspectNode(named: NamedNode): Promise<Result> {
  const inspected = await onRunningNode(named, systemRuntime, (node) =>
    node.request<Inspected>({ method: 'GET', path: '/node/inspect' }),
  )
  return { text: () => inspectText(inspected), json: inspected }
}

export async function shutDownNode(named: NamedNode): Promise<Result> {
  await onRunningNode(named, systemRuntime, (node) => node.request({ method: 'POST', path: '/node/shutdown' }))
  return { text: () => 'shutdown request sent', json: {} }
}
