import type { Inspected } from '../../admin/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { Agent } from '../../base/node-http.ts'
import { isLoopback, socketText } from '../../listening/listen.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { figuresText } from '../bench/figures.ts'
import { benchTag, fixedEvents, measure } from '../bench/measure.ts'
import { ApiClient } from '../client/api-client.ts'
import { hostOfNode, type NamedNode, onRunningNode } from '../client/on-node.ts'
import { confirm } from '../confirm.ts'
import { type Result, write } from '../output/output.ts'
import { progressBar, withProgress } from '../output/progress.ts'

export interface BenchOptions {
  readonly events: number
  readonly isConfirmed: boolean
  readonly isJson: boolean
}

/** Measures a node by publishing events to it, after a confirmation. */
export async function benchNode(named: NamedNode, { events, isConfirmed, isJson }: BenchOptions): Promise<Result> {
  if (events <= fixedEvents)
    throw new ShoalError('ERR_INVALID_INPUT', `--events: ${events} are too few. Allowed: more than ${fixedEvents}.`)
  const { clock, timers, random } = systemRuntime
  const inspected = await onRunningNode(named, systemRuntime, (node) =>
    node.request<Inspected>({ method: 'GET', path: '/node/inspect' }),
  )
  const tag = `${benchTag}:${Buffer.from(random.bytes(6)).toString('hex')}`
  const effect = `${events} events with the tags ${benchTag} and ${tag} are published by ${inspected.nodeId}. They reach all nodes of its swarm, and stay until they are pruned.`
  if (!isConfirmed) await confirm(effect, 'yes')
  else if (!isJson) await write(process.stderr, effect)
  const agent = new Agent({ keepAlive: true })
  try {
    const api = await ApiClient.connect(apiOf(inspected.apiAddrs, hostOfNode(named)), timers, agent)
    const figures = await withProgress(clock, (show) => {
      const progress = (published: number): void => show(progressBar(published, events, 'events'))
      return measure({ api, clock, tag, progress }, events)
    })
    return { text: () => figuresText(figures), json: { tag, ...figures } }
  } finally {
    agent.destroy()
  }
}

/** The address of the API. `host` is that of the admin port, if the command names the node by its address. */
function apiOf(addresses: readonly string[], host: string | undefined): string {
  const found = addresses.flatMap((text) => {
    const [, , address = '', , port = ''] = text.split('/')
    const isAny = address === '0.0.0.0' || address === '::'
    if (host !== undefined && !isLoopback(host) && host !== 'localhost' && isLoopback(address)) return []
    return [socketText({ address: isAny ? (host ?? '127.0.0.1') : address, port: Number(port) })]
  })
  const [first] = found
  if (first !== undefined) return first
  throw new ShoalError(
    'ERR_UNSUPPORTED',
    'The API of the node listens on its own machine only. Type `shoal bench` there, or start it with `shoal run --bind-api 0.0.0.0:4454`.',
  )
}
