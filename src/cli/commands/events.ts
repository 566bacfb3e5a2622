import type { Readable } from 'node:stream'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { rfc3339 } from '../../base/timestamps.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { endingError } from '../client/ending-error.ts'
import { asInvalidInput } from '../client/invalid-input.ts'
import type { NodeClient } from '../client/node-client.ts'
import { type NamedNode, onRunningNode } from '../client/on-node.ts'
import { readLines } from '../client/response-body.ts'
import { textArgument } from '../input.ts'
import { eventText } from '../output/event-line.ts'
import { type Result, type Streamed, write } from '../output/output.ts'
import { table } from '../output/table.ts'

interface Offsets {
  readonly present: Readonly<Record<string, number>>
  readonly toReplicate: Readonly<Record<string, number>>
}

export async function showOffsets(named: NamedNode): Promise<Result> {
  const offsets = await onRunningNode(named, systemRuntime, offsetsOf)
  const streams = [...new Set([...Object.keys(offsets.present), ...Object.keys(offsets.toReplicate)])].sort()
  const rows = streams.map((stream) => {
    const missing = offsets.toReplicate[stream]
    return [stream, String(offsets.present[stream] ?? ''), missing === undefined ? '' : `+${missing}`]
  })
  return { text: () => table(['STREAM ID', 'OFFSET', 'TO REPLICATE'], rows), json: offsets }
}

async function offsetsOf(node: NodeClient): Promise<Offsets> {
  return await node.request<Offsets>({ method: 'GET', path: '/events/offsets' })
}

interface Published {
  readonly data: readonly { lamport: number; stream: string; offset: number; timestamp: number }[]
}

export async function publishEvent(named: NamedNode, argument: string, tags: readonly string[]): Promise<Result> {
  const payload = textArgument(argument)
  try {
    JSON.parse(payload)
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `The payload is not JSON: ${messageOf(error)}`)
  }
  // As text, so that the node stores the payload as it was typed.
  const text = `{"data":[{"tags":${JSON.stringify(tags)},"payload":${payload}}]}`
  const published = await asInvalidInput(
    onRunningNode(named, systemRuntime, (node) =>
      node.request<Published>({ method: 'POST', path: '/events/publish', text }),
    ),
  )
  const lines = published.data.map(
    ({ stream, offset, timestamp }) => `published event ${stream}/${offset} at ${rfc3339(timestamp)}`,
  )
  return { text: () => lines.join('\n'), json: published }
}

/** Stored events, stored and new events, the same in order, or new events only. */
export type ReadKind = 'query' | 'subscribe' | 'subscribe-monotonic' | 'tail'

export async function readEvents(
  named: NamedNode,
  kind: ReadKind,
  argument: string,
  isJson: boolean,
): Promise<Streamed> {
  const query = textArgument(argument)
  const read = async (node: NodeClient): Promise<boolean> => {
    const lowerBound = kind === 'tail' ? (await offsetsOf(node)).present : {}
    const { path, body } = requestOf(kind, query, lowerBound)
    return await writeLines(await node.stream({ method: 'POST', path, body, isLong: true }), isJson)
  }
  return { stream: () => asInvalidInput(onRunningNode(named, systemRuntime, read)) }
}

function requestOf(kind: ReadKind, query: string, lowerBound: object): { path: string; body: object } {
  switch (kind) {
    case 'query':
      return { path: '/events/query', body: { query, order: 'asc' } }
    case 'subscribe-monotonic':
      return { path: '/events/subscribe_monotonic', body: { query, session: '', lowerBound } }
    default:
      return { path: '/events/subscribe', body: { query, lowerBound } }
  }
}

/** Writes the lines of a response. Throws the error in the last one. */
async function writeLines(response: Readable, isJson: boolean): Promise<boolean> {
  for await (const line of readLines(response, limits.answerLineBytes)) {
    // An empty line keeps the connection alive.
    if (line === '') continue
    const failed = endingError(line)
    if (failed !== undefined) throw failed
    if (isJson && !line.startsWith('{"type":"offsets"')) await write(process.stdout, line)
    else if (!isJson) await writeText(line)
  }
  return true
}

async function writeText(line: string): Promise<void> {
  const text = eventText(line)
  if (text !== undefined) await write(process.stdout, text)
}
