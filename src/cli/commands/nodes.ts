import type { Inspected } from '../../admin/index.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { askAll, failedRequestText, nextCommands, type Outcome } from '../client/ask-all.ts'
import { type NamedNode, nodeArgument, onRunningNode } from '../client/on-node.ts'
import type { Result } from '../output/output.ts'
import { table } from '../output/table.ts'
import { inspectText } from './inspect-text.ts'

interface NodeDescription {
  readonly nodeId: string
  readonly displayName: string
  readonly startedIso: string
  readonly startedUnix: number
  readonly version: { readonly version: string }
}

/** Asks all nodes at once; a node that does not answer is a row of the result. */
export async function listNodes(nodes: readonly NamedNode[], timeoutMs: number, isStrict: boolean): Promise<Result> {
  const listed = await askAll(nodes, timeoutMs, systemRuntime, (node) =>
    node.request<NodeDescription>({ method: 'GET', path: '/node' }),
  )
  const head = ['NODE ID', 'DISPLAY NAME', 'HOST', 'STARTED', 'VERSION']
  return {
    text: () => table(head, listed.map(rowOf)),
    json: listed.map(jsonOf),
    note: nextCommands(listed, 'shoal nodes ls'),
    failed: isStrict && listed.some(({ connection }) => connection !== 'reachable'),
  }
}

function jsonOf(asked: Outcome<NodeDescription>): object {
  if (asked.connection !== 'reachable') return asked
  const { connection, host, answer } = asked
  const { nodeId, displayName, startedIso, startedUnix, version } = answer
  return { connection, host, nodeId, displayName, startedIso, startedUnix, version }
}

function rowOf(asked: Outcome<NodeDescription>): string[] {
  if (asked.connection !== 'reachable') return [failedRequestText(asked), '', asked.host, '', '']
  const { nodeId, displayName, startedIso, version } = asked.answer
  return [nodeId, displayName, asked.host, startedIso, version.version]
}

export async function inspectNode(named: NamedNode): Promise<Result> {
  const inspected = await onRunningNode(named, systemRuntime, (node) =>
    node.request<Inspected>({ method: 'GET', path: '/node/inspect' }),
  )
  return { text: () => inspectText(inspected), json: inspected }
}

interface NodeHealth extends Pick<NodeDescription, 'nodeId' | 'displayName'> {
  readonly phase: string
  /** Why it is not ready; empty when it is. */
  readonly problems: readonly { readonly component: string; readonly state: string; readonly detail?: string }[]
}

/** The readiness of a node. The result is that of a failed command when it is not ready. */
export async function nodeHealth(named: NamedNode): Promise<Result> {
  const { nodeId, displayName, phase, problems } = await onRunningNode(named, systemRuntime, (node) =>
    node.request<NodeHealth>({ method: 'GET', path: '/node' }),
  )
  const ready = problems.length === 0
  const reasons = problems.map(
    ({ component, state, detail }) => `  ${component} ${state}${detail ? `: ${detail}` : ''}`,
  )
  return {
    text: () => [`${displayName} (${nodeId}) is ${phase}, ${ready ? 'ready' : 'not ready'}`, ...reasons].join('\n'),
    json: { nodeId, displayName, phase, ready, problems },
    failed: !ready,
    note: ready ? undefined : `Next: shoal doctor ${nodeArgument(named)}`,
  }
}

export async function shutDownNode(named: NamedNode): Promise<Result> {
  await onRunningNode(named, systemRuntime, (node) => node.request({ method: 'POST', path: '/node/shutdown' }))
  return { text: () => 'shutdown request sent', json: {} }
}
