import { limits } from '../base/limits.ts'
import type { Events, Reading } from '../events/index.ts'
import { factPlace } from '../facts/index.ts'
import { nodeAppId } from '../identity/index.ts'
import { sleep, type Timers } from '../runtime/timers.ts'
import { type BackgroundReporter, type CalledThread, refusalIn } from '../store/index.ts'
import { type FileEvent, factOf, type KeyedFact } from './facts.ts'
import { linesOf } from './lines.ts'
import type { FileStore } from './thread/index.ts'

/** Selects the events about files of all nodes. */
const query = `FROM ('files' | 'ans') & appId(${nodeAppId})`

type Line = ({ readonly type: 'event' } & FileEvent) | { readonly type: 'offsets'; readonly offsets: Offsets }
type Offsets = Readonly<Record<string, number>>

interface FileSubscriptionOptions {
  readonly events: Events
  readonly thread: CalledThread<FileStore>
  /** This node: standing queries of other nodes are ignored. */
  readonly node: string
  readonly timers: Timers
  readonly background: BackgroundReporter
}

/** Subscribes to the events about files of all nodes, from the stored offsets on. */
export class FileSubscription {
  readonly #options: FileSubscriptionOptions
  #reading: Reading | undefined
  readonly #closed = new AbortController()
  readonly #firstAttempt = Promise.withResolvers<void>()
  /** Whether all events from before the start of this node have been applied. */
  isCaughtUp = false

  constructor(options: FileSubscriptionOptions) {
    this.#options = options
  }

  /** Resolved when the subscription is caught up for the first time, or has failed. */
  get firstAttempt(): Promise<void> {
    return this.#firstAttempt.promise
  }

  /** Runs until it is closed, and retries after failures. */
  async run(): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      try {
        await this.#subscribe()
      } catch (error) {
        if (!signal.aborted) this.#options.background.failed('follow_files', error, refusalIn(error) !== undefined)
      }
      this.#firstAttempt.resolve()
      await sleep(this.#options.timers, limits.resubscribeMs, { signal, unref: true })
    }
  }

  close(): void {
    this.#closed.abort()
    this.#reading?.cancel()
  }

  async #subscribe(): Promise<void> {
    const { events, thread } = this.#options
    const lowerBound = await thread.call('appliedOffsets', [])
    if (this.#closed.signal.aborted) return
    this.#reading = events.subscribe({ query, appId: nodeAppId, via: 'node', lowerBound })
    for await (const lines of linesOf(this.#reading)) await this.#apply(lines as Line[])
  }

  async #apply(lines: readonly Line[]): Promise<void> {
    const { thread } = this.#options
    const facts: KeyedFact[] = []
    const offsets: Record<string, number> = {}
    let isCaughtUp = false
    for (const line of lines)
      if (line.type === 'event') {
        facts.push(...this.#factsIn(line))
        offsets[line.stream] = line.offset
      } else if (line.type === 'offsets') {
        Object.assign(offsets, line.offsets)
        isCaughtUp = true
      }
    await thread.call('apply', [facts, offsets])
    if (!isCaughtUp) return
    await thread.call('discardLeftovers', [])
    this.isCaughtUp = true
    this.#options.background.succeeded('follow_files')
    this.#firstAttempt.resolve()
  }

  #factsIn(event: FileEvent): KeyedFact[] {
    const fact = factOf(event)
    if (fact === undefined) return []
    if (fact.kind === 'query' && !event.stream.startsWith(`${this.#options.node}-`)) return []
    return [{ fact, ...factPlace(event) }]
  }
}
