import type { IncomingMessage } from 'node:http'
import { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { sleep } from '../../runtime/timers.ts'
import type { NodeClient, NodeRequest } from './node-client.ts'

/** Milliseconds between two attempts. */
const pollMs = 50

/** Retries requests that the node refuses while it changes to another topic: they had no effect. */
export class RetryingClient implements NodeClient {
  readonly #node: NodeClient
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>

  constructor(node: NodeClient, runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.#node = node
    this.#runtime = runtime
  }

  request<T>(sent: NodeRequest): Promise<T> {
    return this.#retried(() => this.#node.request<T>(sent))
  }

  stream(sent: NodeRequest): Promise<IncomingMessage> {
    return this.#retried(() => this.#node.stream(sent))
  }

  async #retried<T>(attempt: () => Promise<T>): Promise<T> {
    const { clock, timers } = this.#runtime
    const deadline = clock.steadyMs() + limits.controlWaitMs
    while (true) {
      try {
        return await attempt()
      } catch (error) {
        const isChanging = error instanceof ShoalError && error.code === 'ERR_TOPIC_UNAVAILABLE'
        if (!isChanging || clock.steadyMs() > deadline) throw error
      }
      await sleep(timers, pollMs)
    }
  }
}
