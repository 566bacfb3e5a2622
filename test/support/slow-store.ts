import type { Appended, AppendRequest, EventStore } from '../../src/store/index.ts'
import { memoryStore } from './api.ts'

/** A store whose appends of one event block until `release`. */
export class SlowStore {
  readonly inner = memoryStore()
  readonly waiting: (() => void)[] = []

  get store(): EventStore {
    return new Proxy<EventStore>(this.inner, {
      get: (target, name) =>
        name === 'append'
          ? (request: AppendRequest) => this.#append(request)
          : (Reflect.get(target, name) as (() => unknown) | undefined)?.bind(target),
    })
  }

  release(): void {
    for (const go of this.waiting.splice(0)) go()
  }

  async #append({ source, spans, streams }: AppendRequest): Promise<Appended> {
    const copy = { source: Buffer.from(source), spans: spans.slice(), streams: streams.slice() }
    if (streams.length === 1) await new Promise<void>((resolve) => this.waiting.push(resolve))
    return await this.inner.append(copy)
  }
}
