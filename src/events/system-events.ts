import { nodeAppId } from '../identity/index.ts'
import type { Publisher } from './publish/index.ts'

/** Publishes what the node says about itself, on the way that the events of apps take: it is routed like them. */
export class SystemEvents {
  readonly #publisher: Publisher

  constructor(publisher: Publisher) {
    this.#publisher = publisher
  }

  async publish(tags: readonly string[], payload: unknown): Promise<void> {
    const body = JSON.stringify({ data: [{ tags, payload }] })
    await this.#publisher.publish(nodeAppId, Buffer.from(body))
  }
}
