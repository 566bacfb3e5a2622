import assert from 'node:assert/strict'
import { failure, ShoalError } from '../../src/base/errors.ts'
import { nodeAppId } from '../../src/identity/index.ts'
import { ByteReader, decodeLabels } from '../../src/protocol/index.ts'
import type { Appended, AppendRequest, EventStore } from '../../src/store/port/index.ts'
import type { Ledger } from './ledger.ts'

/** Not acknowledged: the store is closed, in doubt, or has just been told of a fork. */
const refusals: ReadonlySet<string> = new Set(['ERR_OWN_STREAMS_UNCERTAIN', 'ERR_SHUTTING_DOWN', 'ERR_STREAM_FORKED'])

/** Whether an error says that a change is refused for a reason that an honest node may have. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof ShoalError && refusals.has(error.code)) return true
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause)
}

export interface RecordedStoreOptions {
  readonly store: EventStore
  readonly ledger: Ledger
  readonly label: string
  readonly nowMs: () => number
  /** The ID of an own stream. */
  readonly streamId: (number: number) => string
  /** Called before own events are pruned. */
  readonly beforePrune: (stream: string, count: number) => void
  /** Called after own events were pruned. */
  readonly pruned: (stream: number) => Promise<void>
}

interface PublishedEvent {
  readonly appId: string
  readonly tags: readonly string[]
  readonly payload: string
}

/** The store of a node until it restarts: what it acknowledges is recorded in the ledger. */
export class RecordedStore {
  readonly store: EventStore
  readonly #options: RecordedStoreOptions
  #isClosed = false

  constructor(options: RecordedStoreOptions) {
    this.#options = options
    const replaced: Partial<EventStore> = {
      append: (request) => this.#append(request),
      prune: (stream, count) => this.#prune(stream, count),
      saveClockRecord: async (record) => {
        if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
        await options.store.saveClockRecord(record)
      },
      // The node opens it again.
      close: async () => this.close(),
    }
    this.store = new Proxy(options.store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(name in replaced ? replaced : target, name)
        return typeof value === 'function' && !(name in replaced) ? value.bind(target) : value
      },
    })
  }

  /** Refuses changes from now on: the process that made them has ended. */
  close(): void {
    this.#isClosed = true
  }

  async #append(request: AppendRequest): Promise<Appended> {
    if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
    const { store, label } = this.#options
    // The caller reuses the memory of the request.
    const events = eventsOf(request)
    const [heads, appended] = await Promise.all([store.heads(), store.append(request)])
    const newest = heads.reduce((last, { lamport }) => Math.max(last, lamport), -1)
    assert.ok(appended.lamport > newest, `an event of ${label} sorts before one that was there when it was published`)
    this.#record(events, appended)
    return appended
  }

  #record(events: readonly PublishedEvent[], { runs, lamport }: Appended): void {
    const { ledger, streamId, nowMs } = this.#options
    let at = 0
    for (const { stream, offset, count } of runs) {
      const added = events.slice(at, at + count)
      const payloads = added.map(({ payload }) => payload)
      ledger.add(streamId(stream), offset, payloads, nowMs())
      for (const [i, { appId, tags, payload }] of added.entries()) {
        const parsed: unknown = appId === nodeAppId ? JSON.parse(payload) : undefined
        if (parsed !== undefined && !Object.hasOwn(parsed as object, 'copyOf'))
          ledger.facts.push({ lamport: lamport + at + i, stream: streamId(stream), tags, payload: parsed })
      }
      at += count
    }
  }

  async #prune(stream: number, count: number): Promise<Uint8Array> {
    if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
    const { store, ledger, streamId, beforePrune, pruned } = this.#options
    beforePrune(streamId(stream), count)
    ledger.prune(streamId(stream), count)
    const record = await store.prune(stream, count)
    await pruned(stream)
    return record
  }
}

function eventsOf({ source, spans, streams }: AppendRequest): PublishedEvent[] {
  return Array.from(streams, (_, i) => {
    const [from, to, start, end] = spans.subarray(4 * i, 4 * i + 4) as unknown as [number, number, number, number]
    const labels = decodeLabels(new ByteReader(Buffer.from(source.subarray(from, to))))
    return { ...labels, payload: source.toString('utf8', start, end) }
  })
}
