import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Events, Reading } from '../events/index.ts'
import { linesOf } from '../files/index.ts'
import { nodeAppId, type PublicKey } from '../identity/index.ts'
import type { Clock } from '../runtime/clock.ts'
import { sleep, type Timers } from '../runtime/timers.ts'
import { type BackgroundNotice, BackgroundReporter, refusalIn } from '../store/index.ts'
import { type Discovery, discoveryPayload, isPublic, nodeIdOfPeer, parseDiscovery } from '../swarm/index.ts'

interface EventLine {
  readonly type: string
  readonly stream: string
  /** Microseconds since the Unix epoch. */
  readonly timestamp: number
  readonly payload: unknown
}

export interface DiscoveryEventsOptions {
  readonly events: Events
  /** The public key of this node. */
  readonly node: PublicKey
  readonly clock: Clock
  readonly timers: Timers
  readonly background: (notice: BackgroundNotice) => void
  /** Called for each address that another node has published of itself. */
  readonly discovered: (discovery: Discovery) => void
}

type Work = 'follow' | 'publish'
type OwnAddress = Pick<Discovery, 'origin' | 'address'>

/**
 * Publishes at which addresses this node can be reached, and tells those of others: in this way a node learns of others
 * that are connected to a common peer.
 */
export class DiscoveryEvents {
  readonly #options: DiscoveryEventsOptions
  readonly #self: string
  readonly #background: BackgroundReporter
  readonly #closed = new AbortController()
  readonly #failing = new Set<Work>()
  /** What this node has published of itself, by origin and address, and when. */
  readonly #published = new Map<string, OwnAddress & { readonly at: number }>()
  #current: readonly OwnAddress[] | undefined
  #reading: Reading | undefined
  #isCaughtUp = false
  #changed = Promise.withResolvers<void>()

  constructor(options: DiscoveryEventsOptions) {
    this.#options = options
    this.#self = Buffer.from(options.node).toString('latin1')
    this.#background = new BackgroundReporter(options.background)
  }

  /** Where this node listens, its configured addresses, and others at which peers have reached it. */
  setAddresses(listen: readonly string[], announced: readonly string[], observed: readonly string[] = []): void {
    const current: OwnAddress[] = [
      ...listen.map((address) => ({ origin: 'Listen' as const, address })),
      ...announced.map((address) => ({ origin: 'External' as const, address })),
      ...observed.map((address) => ({ origin: 'Observed' as const, address })),
    ]
    const before = JSON.stringify(this.#current)
    this.#current = current.filter(({ address }) => isPublic(address))
    if (JSON.stringify(this.#current) !== before) this.#changed.resolve()
  }

  /** Runs until it is closed, and retries after failures. */
  async run(): Promise<void> {
    await Promise.all([this.#repeat('follow', () => this.#follow()), this.#repeat('publish', () => this.#publish())])
  }

  close(): void {
    this.#closed.abort()
    this.#reading?.cancel()
    this.#changed.resolve()
  }

  async #repeat(name: Work, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        if (!signal.aborted && !isReportedElsewhere(error)) this.#failed(name, error)
      }
      await sleep(this.#options.timers, limits.discoveryPauseMs, { signal, unref: true })
    }
  }

  #failed(work: Work, error: unknown): void {
    this.#failing.add(work)
    this.#background.failed('discovery', error, refusalIn(error) !== undefined)
  }

  #succeeded(work: Work): void {
    this.#failing.delete(work)
    if (this.#failing.size === 0) this.#background.succeeded('discovery')
  }

  async #follow(): Promise<void> {
    const { events, clock } = this.#options
    const from = new Date(clock.now() / 1000 - limits.discoverySeconds * 1000).toISOString()
    const query = `FROM 'discovery' & appId(${nodeAppId}) & from(${from})`
    this.#reading = events.subscribe({ query, appId: nodeAppId, via: 'node', lowerBound: {} })
    for await (const lines of linesOf(this.#reading))
      for (const line of lines as EventLine[]) {
        if (line.type === 'event') this.#take(line)
        else if (line.type === 'offsets') this.#caughtUp()
      }
  }

  #caughtUp(): void {
    this.#isCaughtUp = true
    this.#succeeded('follow')
    this.#changed.resolve()
  }

  #take({ stream, payload, timestamp }: EventLine): void {
    const discovery = parseDiscovery(payload)
    // A node only speaks for itself.
    if (discovery === undefined || !stream.startsWith(`${nodeIdOfPeer(discovery.peer)}-`)) return
    if (discovery.peer === this.#self) this.#note(discovery, timestamp)
    else this.#options.discovered(discovery)
  }

  #note({ isNew, origin, address }: Omit<Discovery, 'peer'>, at: number): void {
    if (isNew) this.#published.set(`${origin} ${address}`, { origin, address, at })
    else this.#published.delete(`${origin} ${address}`)
  }

  /** Publishes what has changed, or has to be repeated, and waits for the next change. */
  async #publish(): Promise<void> {
    const { clock, events } = this.#options
    const current = this.#current
    this.#changed = Promise.withResolvers<void>()
    if (this.#isCaughtUp && current !== undefined) {
      for (const change of this.#changes(current)) {
        if (this.#closed.signal.aborted) return
        await events.system.publish(['discovery'], discoveryPayload({ ...change, peer: this.#self }))
        this.#note(change, clock.now())
      }
      this.#succeeded('publish')
    }
    const waiting = new AbortController()
    const signal = AbortSignal.any([this.#closed.signal, waiting.signal])
    const repeatMs = limits.discoverySeconds * 500
    await Promise.race([this.#changed.promise, sleep(this.#options.timers, repeatMs, { signal, unref: true })])
    // Ends the timer that was not waited for.
    waiting.abort()
  }

  #changes(current: readonly OwnAddress[]): Omit<Discovery, 'peer'>[] {
    const keys = new Set(current.map(({ origin, address }) => `${origin} ${address}`))
    const gone = [...this.#published].filter(([key]) => !keys.has(key))
    const isRecent = ({ origin, address }: OwnAddress): boolean => {
      const at = this.#published.get(`${origin} ${address}`)?.at
      return at !== undefined && this.#options.clock.now() - at < limits.discoverySeconds * 500_000
    }
    return [
      ...gone.map(([, { origin, address }]) => ({ origin, address, isNew: false })),
      ...current.filter((own) => !isRecent(own)).map((own) => ({ ...own, isNew: true })),
    ]
  }
}

/** While nothing can be published, the reason is reported by what refuses it. */
function isReportedElsewhere(error: unknown): boolean {
  return error instanceof ShoalError && (error.code === 'ERR_OWN_STREAMS_UNCERTAIN' || error.code === 'ERR_CLOCK')
}
