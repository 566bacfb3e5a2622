import { ShoalError } from '../../base/errors.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { nextCommand } from '../output/next-command.ts'
import { quoted } from '../output/quoted.ts'
import type { NodeClient } from './node-client.ts'
import { NotConnected } from './node-connection.ts'
import { type NamedNode, onRunningNode, requireUserKey } from './on-node.ts'

/** The outcome of a request to one of several nodes. */
export type Outcome<T> = { readonly connection: 'reachable'; readonly host: string; readonly answer: T } | FailedRequest

export type FailedRequest =
  | { readonly connection: 'unreachable' | 'unauthorized'; readonly host: string }
  | { readonly connection: 'error'; readonly host: string; readonly error: { code: string; message: string } }

/** Asks several nodes concurrently. Returns one outcome per node, in their order; a failed request does not throw. */
export async function askAll<T>(
  nodes: readonly NamedNode[],
  timeoutMs: number,
  runtime: Runtime,
  ask: (node: NodeClient) => Promise<T>,
): Promise<Outcome<T>[]> {
  requireUserKey(nodes)
  return await Promise.all(nodes.map((named) => askOne({ ...named, timeoutMs }, timeoutMs, runtime, ask)))
}

async function askOne<T>(
  named: NamedNode,
  timeoutMs: number,
  runtime: Runtime,
  ask: (node: NodeClient) => Promise<T>,
): Promise<Outcome<T>> {
  const host = named.node ?? named.folder
  const expired = Promise.withResolvers<never>()
  const late = new ShoalError('ERR_NODE_UNREACHABLE', 'timeout')
  const timer = runtime.timers.setTimeout(() => expired.reject(late), timeoutMs)
  try {
    const answer = await Promise.race([onRunningNode(named, runtime, ask), expired.promise])
    return { connection: 'reachable', host, answer }
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    const { code, message } = error
    if (code === 'ERR_UNAUTHORIZED') return { connection: 'unauthorized', host }
    if (error instanceof NotConnected) return { connection: 'unreachable', host }
    return { connection: 'error', host, error: { code, message } }
  } finally {
    runtime.timers.clear(timer)
  }
}

/** The commands to type next for the nodes that have not answered; undefined when all have. */
export function nextCommands(asked: readonly Outcome<unknown>[], command: string): string | undefined {
  const lines = asked.flatMap((one) => {
    if (one.connection === 'reachable') return []
    const [code, message] =
      'error' in one
        ? [one.error.code, one.error.message]
        : [one.connection === 'unreachable' ? 'ERR_NODE_UNREACHABLE' : 'ERR_UNAUTHORIZED', '']
    const next = nextCommand(code, message, { command, target: quoted(one.host) })
    return next === undefined ? [] : [`Next: ${next}`]
  })
  return lines.length === 0 ? undefined : [...new Set(lines)].join('\n')
}

/** What a row of the table has in place of an answer. */
export function failedRequestText(asked: FailedRequest): string {
  if ('error' in asked) return asked.error.message
  return asked.connection === 'unreachable' ? 'shoal was unreachable on host' : 'Unauthorized on host'
}
