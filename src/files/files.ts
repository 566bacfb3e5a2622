import { failure, invalidRequest } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Events } from '../events/index.ts'
import { type NodeId, nodeAppId } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import { type Clock, nowMs } from '../runtime/clock.ts'
import { sleep, type Timer, type Timers } from '../runtime/timers.ts'
import {
  type BackgroundNotice,
  BackgroundReporter,
  type BlockUsage,
  type CacheLimits,
  CalledThread,
  type DiskNotice,
  refusalIn,
  type StoreDamage,
  type ThreadWatch,
  TransferThrottle,
} from '../store/index.ts'
import { diskUse } from './disk-use.ts'
import { Downloads } from './downloads.ts'
import { factOf } from './facts.ts'
import { FileBlocks } from './file-blocks.ts'
import { FileSubscription } from './file-subscription.ts'
import { typeByNameOrAny } from './media-types.ts'
import { StandingQueries } from './standing-queries.ts'
import type { ArrivedBlock, FileStore, FilesData, Found, NamedContent, PinnedContent } from './thread/index.ts'
import { filesModule } from './thread/index.ts'
import { parseCid } from './unixfs/index.ts'
import { Upload, type Uploaded } from './upload.ts'

export interface FilesOptions {
  /** The block database. */
  readonly file: string
  readonly node: NodeId
  readonly events: Events
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
  /** Milliseconds that a download waits for a block of another node. */
  readonly blockTimeoutMs?: () => number
  /** Notified when the files thread starts and ends. */
  readonly threads?: ThreadWatch
  /** Called for disk errors, and when the disk works again. */
  readonly disk?: (notice: DiskNotice) => void
  /** Called when background work fails, and when it works again. */
  readonly background?: (notice: BackgroundNotice) => void
  /** Called for damage that was found when the store was opened. */
  readonly onDamage?: (damage: StoreDamage) => void
  /** Called when a call to the files thread begins; what it returns is called when the call ends. */
  readonly measure?: (call: string) => () => void
}

/** As in the JSON of requests and events. */
export interface Duration {
  readonly secs: number
  readonly nanos: number
}

/** The files of the topic of this node: uploads, downloads, names, standing queries and cache eviction. */
export class Files {
  readonly #options: FilesOptions
  readonly #thread: CalledThread<FileStore>
  readonly #subscription: FileSubscription
  readonly #subscriptionEnd: Promise<void>
  readonly #queries: StandingQueries
  readonly #throttle: TransferThrottle
  readonly #downloads: Downloads
  readonly #background: BackgroundReporter
  /** Blocks of other nodes. */
  readonly blocks: FileBlocks
  /** Serializes changes of names and uploads: each one is applied before the next one starts. */
  #lastChange: Promise<unknown> = Promise.resolve()
  #collecting: Promise<void> | undefined
  #timer: Timer | undefined
  #uploads = 0

  constructor(options: FilesOptions) {
    this.#options = options
    this.#throttle = new TransferThrottle(
      () => options.events.publishes,
      (ms) => sleep(options.timers, ms),
    )
    const data: FilesData = { file: options.file }
    const { threads, onDamage, disk = () => {} } = options
    this.#thread = new CalledThread('files', filesModule, data, {
      threads,
      onDamage,
      disk: { ...diskUse, notify: disk },
      background: options.background,
      measure: options.measure,
      onNotice: (notice) => this.blocks.arrived(notice as ArrivedBlock),
    })
    this.#background = new BackgroundReporter(options.background)
    const { timers, blockTimeoutMs: timeoutMs = () => 0 } = options
    this.blocks = new FileBlocks({ thread: this.#thread, timers, timeoutMs })
    this.#downloads = new Downloads({ thread: this.#thread, blocks: this.blocks, throttle: this.#throttle })
    const parts = { ...options, thread: this.#thread, background: this.#background }
    this.#subscription = new FileSubscription(parts)
    this.#subscriptionEnd = this.#subscription.run()
    this.#queries = new StandingQueries(parts)
    void this.#subscription.firstAttempt.then(() => this.runQueries())
  }

  /**
   * Stores the files that `add` adds to an upload of an app. Returns the CID of the file or directory. A single file is
   * stored as a directory only with `asDirectory`.
   */
  async upload(appId: string, add: (upload: Upload) => Promise<void>, asDirectory = false): Promise<string> {
    if (this.#uploads >= limits.concurrentUploads) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#uploads++
    try {
      const upload = new Upload(this.#thread, await this.#thread.call('beginUpload', []), this.#throttle)
      try {
        await add(upload)
        const uploaded = await upload.finish(asDirectory)
        await this.#publishFact(['files', 'files:created'], createdPayload(uploaded, appId))
        return uploaded.cid
      } finally {
        await upload.end()
      }
    } finally {
      this.#uploads--
    }
  }

  /** Resolves a CID or a name, and a path below it. Waits for blocks that are on their way. */
  async find(root: string, path: readonly string[]): Promise<Found> {
    await this.#subscription.firstAttempt
    return await this.#downloads.find(root, path)
  }

  /** Resolves a path of the website of a host. Waits for blocks that are on their way. */
  async findSite(host: string, path: readonly string[]): Promise<Found> {
    await this.#subscription.firstAttempt
    return await this.#downloads.findSite(host, path)
  }

  /** Downloads a range of a file. */
  read(cid: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    return this.#downloads.read(cid, start, end)
  }

  async names(): Promise<NamedContent[]> {
    await this.#subscription.firstAttempt
    return await this.#thread.call('names', [])
  }

  /** Uploads without a name, the newest first. */
  async unnamedUploads(): Promise<PinnedContent[]> {
    await this.#subscription.firstAttempt
    return await this.#thread.call('unnamedUploads', [])
  }

  /** Binds a name to a CID. Returns the previous CID. */
  bind(name: string, cid: string): Promise<string | undefined> {
    return this.#serialize(async () => {
      const before = await this.#thread.call('cidOf', [name])
      await this.#publishFact(['ans'], { Add: { name, cid, public: true, level: 'Prefetch' } })
      return before
    })
  }

  /** Removes a name. Returns its CID. */
  unbind(name: string): Promise<string | undefined> {
    return this.#serialize(async () => {
      const before = await this.#thread.call('cidOf', [name])
      if (before !== undefined) await this.#publishFact(['ans'], { Remove: { name } })
      return before
    })
  }

  /** Unpins an upload, on all nodes. Returns whether it existed. */
  remove(appId: string, text: string): Promise<boolean> {
    const cid = String(parseCid(text))
    return this.#serialize(async () => {
      if (!(await this.#thread.call('isUploaded', [cid]))) return false
      await this.#publishFact(['files', 'files:removed'], { type: 'removed', cid, app_id: appId })
      return true
    })
  }

  /** Pins the results of a query. Replaces the earlier standing query of the app. */
  async prefetch(appId: string, query: string, duration: Duration): Promise<void> {
    await this.#checkQuery(appId, query)
    const now = nowMs(this.#options.clock)
    const others = (await this.#thread.call('queries', [])).filter(({ app, until }) => app !== appId && until > now)
    if (others.length >= limits.standingQueries)
      throw invalidRequest(`There are ${limits.standingQueries} queries already.`)
    await this.#publishFact(['files', 'files:pinned'], { PinAdded: { app_id: appId, query, duration } })
    await this.#queries.run(appId)
  }

  /** Runs all standing queries. Failures are reported, and retried before the next garbage collection. */
  async runQueries(): Promise<void> {
    try {
      await this.#queries.run()
    } catch (error) {
      this.#background.failed('keep_files', error, refusalIn(error) !== undefined)
    }
  }

  /** Evicts unpinned blocks above the cache limits at an interval, which replaces the previous one. */
  collectEvery(seconds: number, cache: () => CacheLimits): void {
    this.#options.timers.clear(this.#timer)
    this.#timer = this.#options.timers.setInterval(() => void this.collectAndReport(cache()), seconds * 1000).unref()
  }

  /** Evicts once, and reports failures. */
  async collectAndReport(cache: CacheLimits): Promise<void> {
    try {
      await this.collect(cache)
      this.#background.succeeded('evict')
    } catch (error) {
      this.#background.failed('evict', error, refusalIn(error) !== undefined)
    }
  }

  collect(cache: CacheLimits): Promise<void> {
    this.#collecting ??= this.#collect(cache).finally(() => {
      this.#collecting = undefined
    })
    return this.#collecting
  }

  /** A write without effect, to find out whether the disk works again. */
  async probe(): Promise<void> {
    await this.#thread.call('probe', [])
    this.#thread.recovered()
  }

  /** The number and size of the stored blocks. */
  usage(): Promise<BlockUsage> {
    return this.#thread.call('usage', [])
  }

  /** Runs work that reads a snapshot of the blocks from their files. */
  async whileHeld<T>(work: () => Promise<T>): Promise<T> {
    await this.#thread.call('holdSlots', [])
    const worked = work()
    const [isHeld] = await Promise.all([
      worked.catch(() => {}).then(() => this.#thread.call('releaseSlots', [])),
      worked,
    ])
    // A files thread that was started again meanwhile has not held them.
    if (!isHeld) throw failure('ERR_SHUTTING_DOWN', {})
    return await worked
  }

  async close(): Promise<void> {
    this.#options.timers.clear(this.#timer)
    this.#subscription.close()
    this.#queries.close()
    this.blocks.close()
    // A failure is reported to the caller of collect().
    await this.#collecting?.catch(() => {})
    await this.#thread.close()
    await this.#subscriptionEnd
  }

  async #collect(cache: CacheLimits): Promise<void> {
    // Blocks must not be evicted that an unread event, or a newer result of a standing query, would pin.
    if (!this.#subscription.isCaughtUp) return
    await this.#queries.run()
    while (await this.#thread.call('collect', [cache]));
  }

  /** Throws if a query is invalid. The reader thread validates it, because a long one would block this thread. */
  async #checkQuery(appId: string, query: string): Promise<void> {
    const found = await this.#options.events.validate({ appId, via: 'http', query, endpoint: 'query' })
    const { canonical, error } = JSON.parse(found) as { canonical?: string; error?: string }
    // Only the syntax counts: features that `query` does not support are no error here.
    if (canonical === undefined) throw failure('ERR_BAD_REQUEST', { cause: error ?? 'It is no query.' })
  }

  #serialize<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#lastChange.then(() => this.#subscription.firstAttempt).then(change)
    // The rejection goes to its caller; the next change only waits.
    this.#lastChange = changed.catch(() => {})
    return changed
  }

  /** Publishes a fact and applies it at once, so that it is visible when the client gets its response. */
  async #publishFact(tags: readonly string[], payload: unknown): Promise<void> {
    const body = Buffer.from(JSON.stringify({ data: [{ tags, payload }] }))
    const { data } = JSON.parse(String(await this.#options.events.publish(nodeAppId, body))) as { data: Published[] }
    const facts = data.flatMap(({ lamport, stream, timestamp }) => {
      const fact = factOf({ payload, timestamp })
      return fact === undefined ? [] : [{ fact, key: { lamport, stream } }]
    })
    await this.#thread.call('apply', [facts])
  }
}

interface Published {
  readonly lamport: number
  readonly stream: string
  readonly timestamp: number
}

function createdPayload({ file, cid, size }: Uploaded, appId: string): unknown {
  return file === undefined
    ? { type: 'directoryAdded', name: '/', cid, size, app_id: appId }
    : { type: 'fileAdded', name: file, cid, size, mime: typeByNameOrAny(file), app_id: appId }
}
