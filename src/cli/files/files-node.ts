import type { IncomingMessage } from 'node:http'
import type { Inspected } from '../../admin/index.ts'
import { type ErrorCode, failure, messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { isLoopback } from '../../listening/listen.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timers } from '../../runtime/timers.ts'
import { ApiClient } from '../client/api-client.ts'
import { NoNode } from '../client/control-client.ts'
import { bodyOf, type NodeClient, type NodeRequest } from '../client/node-client.ts'
import { hostOfNode, type NamedNode, nodeArgument, onRunningNode } from '../client/on-node.ts'
import { parseResponse, readText } from '../client/response-body.ts'
import { explainError } from './explain-error.ts'
import type { WebsitePlace } from './website.ts'

/** The node of a command for files: named as in all commands, or by the address of its API. */
export type NamedFilesNode = NamedNode | { readonly api: string }

export interface FilesRequest extends Pick<NodeRequest, 'method' | 'body' | 'text' | 'upload'> {
  /** The path below `/files`, with its query string. */
  readonly path: string
  /** Messages for the error codes that have a specific meaning in this request. */
  readonly explained?: Partial<Record<ErrorCode, string>>
}

interface FilesBackend {
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

/** A client for the files of a node, through its API, its admin port or its control socket. */
export class FilesNode {
  readonly #backend: FilesBackend
  readonly #timers: Timers

  constructor(backend: FilesBackend, timers: Timers) {
    this.#backend = backend
    this.#timers = timers
  }

  /** Where the websites of the node are. */
  websites(): Promise<WebsitePlace> {
    return this.#backend.websites()
  }

  /** Sends a request. Throws the error of an error response. */
  async stream({ path, explained = {}, ...sent }: FilesRequest): Promise<IncomingMessage> {
    const errors = Object.keys(explained)
    return await explainError(this.#backend.send({ ...sent, path: `/files${path}`, errors, isLong: true }), explained)
  }

  async text(sent: FilesRequest): Promise<string> {
    return await this.#textOf(await this.stream(sent))
  }

  async json<T>(response: IncomingMessage): Promise<T> {
    return parseResponse<T>(await this.#textOf(response), this.#backend.name)
  }

  async #textOf(response: IncomingMessage): Promise<string> {
    const limited = { maxBytes: limits.commandAnswerBytes, timeoutMs: limits.longControlAnswerMs, timers: this.#timers }
    try {
      return await readText(response, limited)
    } catch (error) {
      throw closedEarly(this.#backend.name, messageOf(error))
    }
  }
}

function throughApi(client: ApiClient): FilesBackend {
  const { hostname, port } = new URL(client.base)
  return {
    name: client.base,
    send: (sent) => client.get(`/api/v2${sent.path}`, { method: sent.method, ...bodyOf(sent) }),
    websites: async () => ({ port: Number(port || 80), isHere: isHere(hostname.replace(/^\[|\]$/g, '')) }),
  }
}

function throughNode(node: NodeClient, named: NamedNode): FilesBackend {
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
        // `NoNode` would restart the whole command, but files may be written already.
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

/** The error for a response whose connection was closed before its end. */
export function closedEarly(name: string, reason: string): Error {
  return failure('ERR_NODE_UNREACHABLE', { cause: `${name}: the connection was closed: ${reason}` })
}
