import { systemRuntime } from '../../runtime/system-runtime.ts'
import { askAll, failedRequestText, nextCommands, type Outcome } from '../client/ask-all.ts'
import type { NamedNode } from '../client/on-node.ts'
import type { Result } from '../output/output.ts'
import { table } from '../output/table.ts'

interface Topics {
  readonly nodeId: string
  readonly activeTopic: string
  readonly topics: Readonly<Record<string, number>>
}

interface Deleted {
  readonly nodeId: string
  readonly deleted: boolean
}

export async function listTopics(nodes: readonly NamedNode[], timeoutMs: number, isStrict: boolean): Promise<Result> {
  const listed = await askAll(nodes, timeoutMs, systemRuntime, (node) =>
    node.request<Topics>({ method: 'GET', path: '/topics' }),
  )
  const head = ['NODE ID', 'HOST', 'TOPIC', 'SIZE', 'ACTIVE']
  return result(listed, isStrict, 'shoal topics ls', () => table(head, listed.flatMap(topicRows)))
}

/** One row per topic; the node is named in its first one. */
function topicRows(asked: Outcome<Topics>): string[][] {
  if (asked.connection !== 'reachable') return [[failedRequestText(asked), asked.host, '', '', '']]
  const { nodeId, activeTopic, topics } = asked.answer
  return Object.entries(topics).map(([topic, bytes], i) => [
    i === 0 ? nodeId : '',
    i === 0 ? asked.host : '',
    topic,
    String(bytes),
    topic === activeTopic ? '*' : '',
  ])
}

export async function deleteTopic(
  topic: string,
  nodes: readonly NamedNode[],
  timeoutMs: number,
  isStrict: boolean,
): Promise<Result> {
  const path = `/topics/${encodeURIComponent(topic)}`
  const asked = await askAll(nodes, timeoutMs, systemRuntime, (node) =>
    node.request<Deleted>({ method: 'DELETE', path }),
  )
  const rows = asked.map((one) =>
    one.connection === 'reachable'
      ? [one.answer.nodeId, one.host, one.answer.deleted ? 'Y' : 'N']
      : [failedRequestText(one), one.host, ''],
  )
  return result(asked, isStrict, 'shoal topics delete', () => table(['NODE ID', 'HOST', 'DELETED'], rows))
}

function result<T>(asked: readonly Outcome<T>[], isStrict: boolean, command: string, text: () => string): Result {
  const json = asked.map((one) => {
    if (one.connection !== 'reachable') return one
    const { connection, host, answer } = one
    return { connection, host, response: answer }
  })
  const note = nextCommands(asked, command)
  return { text, json, note, failed: isStrict && asked.some(({ connection }) => connection !== 'reachable') }
}
