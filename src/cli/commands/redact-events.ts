import type { Inspected } from '../../admin/index.ts'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Redacted } from '../../events/index.ts'
import { parseNodeId, peerIdOf, publicKeyOf } from '../../identity/index.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import type { NodeClient } from '../client/node-client.ts'
import { type NamedNode, onRunningNode } from '../client/on-node.ts'
import { confirm } from '../confirm.ts'
import { type EventSet, referencedEvents } from '../event-references.ts'
import { textArgument } from '../input.ts'
import { type Result, write } from '../output/output.ts'
import { progressLine } from '../output/progress.ts'
import { eventsOfQuery } from './events-of-query.ts'
import { type OtherNode, previewText, RedactionReport, refusalText } from './redaction-text.ts'

export interface RedactionOptions {
  /** The events, as `<stream ID>/<offset>`. */
  readonly events: readonly string[]
  /** A query that selects the events, instead of `events`. */
  readonly query: string | undefined
  readonly isConfirmed: boolean
}

/** Redacts events on the node that has published them. */
export async function redactEvents(named: NamedNode, options: RedactionOptions): Promise<Result> {
  const { events, query } = options
  if (events.length > 0 === (query !== undefined))
    throw new ShoalError('ERR_INVALID_INPUT', 'Name the events by <stream ID>/<offset>, or select them with --query.')
  const listed = referencedEvents(events)
  const text = query === undefined ? undefined : textArgument(query)
  return await onRunningNode(named, systemRuntime, (node) => redactOn(node, listed, text, options.isConfirmed))
}

async function redactOn(
  node: NodeClient,
  listed: EventSet,
  query: string | undefined,
  isConfirmed: boolean,
): Promise<Result> {
  const { nodeId } = await node.request<{ nodeId: string }>({ method: 'GET', path: '/node' })
  const selected = query === undefined ? { events: listed, first: [] } : await eventsOfQuery(node, query)
  const isOwn = (stream: string): boolean => stream.startsWith(`${nodeId}-`)
  const own = selected.events.filter(isOwn)
  const others = await otherNodes(
    node,
    selected.events.filter((stream) => !isOwn(stream)),
  )
  if (query !== undefined && selected.events.size > 0)
    await write(process.stderr, previewText(selected.events.size, selected.first, own.size, others))
  if (own.size === 0 && others.length > 0) throw new ShoalError('ERR_INVALID_INPUT', refusalText(others))
  if (query !== undefined && own.size > 0 && !isConfirmed)
    await confirm(`The payloads of ${own.size} events are removed for ever, on all nodes.`, String(own.size))
  const report = new RedactionReport(others)
  await redactAll(node, own, report)
  return report
}

/** Redacts in batches of one request each, and shows the progress. */
async function redactAll(node: NodeClient, events: EventSet, report: RedactionReport): Promise<void> {
  const progress = progressLine(systemRuntime.clock)
  let asked = 0
  try {
    for (const stream of events.streams) {
      const offsets = events.of(stream)
      for (let i = 0; i < offsets.length; i += limits.redactedPerRequest) {
        const body = { stream, offsets: offsets.slice(i, i + limits.redactedPerRequest) }
        report.add(stream, await node.request<Redacted>({ method: 'POST', path: '/events/redact', body, isLong: true }))
        asked += body.offsets.length
        progress.update(`${asked} of ${events.size} events`)
      }
    }
  } catch (error) {
    if (!(error instanceof ShoalError) || asked === 0) throw error
    const rest = `Of ${events.size} events ${asked} are done. Type the command again for the others.`
    throw new ShoalError(error.code, `${messageOf(error)} ${rest}`, { cause: error.cause })
  } finally {
    progress.end()
  }
}

/** The nodes that have published events, with their display names as far as this node knows them. */
async function otherNodes(node: NodeClient, events: EventSet): Promise<OtherNode[]> {
  if (events.size === 0) return []
  const { knownPeers } = await node.request<Inspected>({ method: 'GET', path: '/node/inspect' })
  const names = new Map(knownPeers.map(({ peerId, info }) => [peerId, info.agentVersion]))
  const ids = [...new Set(events.streams.map((stream) => parseNodeId(stream.slice(0, stream.lastIndexOf('-')))))]
  return ids.map((nodeId) => ({
    nodeId,
    displayName: names.get(peerIdOf(publicKeyOf(nodeId))) || undefined,
    events: events.filter((stream) => stream.startsWith(`${nodeId}-`)),
  }))
}
