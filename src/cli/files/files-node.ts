import type { IncomingMessage } from 'node:http'
import type { Inspected } from '../../admin/index.ts'
import { type ErrorCode, failure, messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { isLoopback } from '../../listening/listen.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timers } from '../../runtime/timers.ts'
import { parsedAnswer, textOf } from '../answers.ts'
import { ApiClient } from '../api-client.ts'
import { NoNode } from '../control-client.ts'
import { bodyOf, type NodeClient, type NodeRequest } from '../node-client.ts'
import { hostOfNode, type NamedNode, nodeArgument, onRunningNode } from '../on-node.ts'
import { explainError } from './explain-error.ts'
import type { WebsitePlace } from './website.ts'

/** The node of a command: as in all commands, or by the address of its API. */
export type NamedFilesNode = NamedNode | { readonly api: string }

export interface FilesRequest extends Pick<NodeRequest, 'method' | 'body' | 'text' | 'upload'> {
  /** The path below `/files`, with its query string. */
  readonly path: string
  /** The messages for errors that have a meaning of their own in this request. */
  readonly explained?: Partial<Record<ErrorCode, string>>
}

interface FilesWay {
  /** How errors name the node. */
  readonly name: string
  readonly send: (sent: NodeRequest) => Promise<IncomingMessage>
  readonly websites: () => Promise<WebsitePlace>
}

/** Runs a command on the files of a running node. */
export async function onFilesNode<T>(
  named: NamedFilesNode,
  runtime: Runtime,
  work: (node: FilesNode) => Promise<T>,
): Promise<T> {
  const { timers } = runtime
  if ('api' in named) return await work(new FilesNode(throughApi(await ApiClient.connect(named.api, timers)), timers))
  return await onRunningNode(named, runtime, (node) => work(new FilesNode(throughNode(node, named), timers)))
}

/** The files of a node: through its API, its admin port or its control socket. */
export class FilesNode {
  readonly #way: FilesWay
  readonly #timers: Timers

  constructor(way: FilesWay, timers: Timers) {
    this.#way = way
    this.#timers = timers
  }

  /** Where the websites of the node are. */
  websites(): Promise<WebsitePlace> {
    return this.#way.websites()
  }

  /** Sends a request. Throws the error of an error response. */
  async stream({ path, explained = {}, ...sent }: FilesRequest): Promise<IncomingMessage> {
    const errors = Object.keys(explained)
    return await explainError(this.#way.send({ ...sent, path: `/files${path}`, errors, isLong: true }), explained)
  }

  async text(sent: FilesRequest): Promise<string> {
    return await this.#textOf(await this.stream(sent))
  }

  async json<T>(response: IncomingMessage): Promise<T> {
    return parsedAnswer<T>(await this.#textOf(response), this.#way.name)
  }

  async #textOf(response: IncomingMessage): Promise<string> {
    const limited = { maxBytes: limits.commandAnswerBytes, timeoutMs: limits.longControlAnswerMs, timers: this.#timers }
    try {
      return await textOf(response, limited)
    } catch (error) {
      throw closedEarly(this.#way.name, messageOf(error))
    }
  }
}

function throughApi(client: ApiClient): FilesWay {
  const { hostname, port } = new URL(client.base)
  return {
    name: client.base,
    send: (sent) => client.get(`/api/v2${sent.path}`, { method: sent.method, ...bodyOf(sent) }),
    websites: async () => ({ port: Number(port || 80), isHere: isHere(hostname.replace(/^\[|\]$/g, '')) }),
  }
}

function throughNode(node: NodeClient, named: NamedNode): FilesWay {
  const [name, check] = [named.node ?? named.folder, `shoal files ls / ${nodeArgument(named)}`]
  let hasAnswered = false
  return {
    name,
    async send(sent) {
      try {
        const response = await node.stream({ ...sent, check })
        hasAnswered = true
        return response
      } catch (error) {
        // It is not asked from the start again: files may be written already.
        throw hasAnswered && error instanceof NoNode ? closedEarly(name, error.message) : error
      }
    },
    async websites() {
      const { apiAddrs } = await node.request<Inspected>({ method: 'GET', path: '/node/inspect' })
      const [, port] = /\/tcp\/(\d+)/.exec(apiAddrs[0] ?? '') ?? []
      const host = hostOfNode(named)
      return { port: port === undefined ? undefined : Number(port), isHere: host === undefined || isHere(host) }
    },
  }
}

function isHere(host: string): boolean {
  return isLoopback(host) || host === 'localhost' || host.endsWith('.localhost')
}

/** The error for an answer that ended too early. */
export function closedEarly(name: string, reason: string): Error {
  return failure('ERR_NODE_UNREACHABLE', { cause: `${name}: the connection was closed: ${reason}` })
}
