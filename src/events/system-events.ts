import { nodeAppId } from '../identity/index.ts'
import type { Publisher } from './publish/index.ts'

/** Publishes events of the node itself. They are routed like events of apps. */
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
