import { assert } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Events } from '../events/index.ts'
import { type NodeId, nodeAppId } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import { type Clock, nowMs } from '../runtime/clock.ts'
import { sleep, type Timer, type Timers } from '../runtime/timers.ts'
import {
  type BackgroundNotice,
  BackgroundReporter,
  type CacheLimits,
  CalledThread,
  type DiskNotice,
  refusalIn,
  type StoreDamage,
  type ThreadWatch,
} from '../store/index.ts'
import { diskUse } from './disk-use.ts'
import { factOf } from './facts.ts'
import { Following } from './file-events.ts'
import { GivingWay } from './giving-way.ts'
import { typeByNameOrAny } from './media-types.ts'
import { StandingQueries } from './standing-queries.ts'
import type { FileStore, FilesData, Found, KeptContent, NamedContent } from './thread/index.ts'
import { filesModule } from './thread/index.ts'
import { parseCid } from './unixfs/index.ts'
import { Upload, type Uploaded } from './upload.ts'

export interface FilesOptions {
  /** The database with the blocks. */
  readonly file: string
  readonly node: NodeId
  readonly events: Events
  readonly log: Logger
  readonly clock: Clock
  readonly timers: Timers
  /** Told of the files thread. */
  readonly threads?: ThreadWatch
  /** Is told when the disk refuses something, and when it works again. */
  readonly disk?: (notice: DiskNotice) => void
  /** Called when background work fails, and when it works again. */
  readonly background?: (notice: BackgroundNotice) => void
  /** Called for damage of the store that was found when it was opened. */
  readonly onDamage?: (damage: StoreDamage) => void
}

/** How long something is wanted. */
export interface Duration {
  readonly secs: number
  readonly nanos: number
}

/** The files of the topic of this node: what is uploaded, what has a name, and what is kept. */
export class Files {
  readonly #options: FilesOptions
  readonly #thread: CalledThread<FileStore>
  readonly #following: Following
  readonly #followed: Promise<void>
  readonly #queries: StandingQueries
  readonly #givingWay: GivingWay
  readonly #background: BackgroundReporter
  /** Changes of what is kept, one after the other: each is taken over before the next is made. */
  #changing: Promise<unknown> = Promise.resolve()
  #collecting: Promise<void> | undefined
  #timer: Timer | undefined
  #uploads = 0

  constructor(options: FilesOptions) {
    this.#options = options
    this.#givingWay = new GivingWay(
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
    })
    this.#background = new BackgroundReporter(options.background)
    const parts = { ...options, thread: this.#thread, background: this.#background }
    this.#following = new Following(parts)
    this.#followed = this.#following.run()
    this.#queries = new StandingQueries(parts)
    void this.#following.tried.then(() => this.askQueries())
  }

  /**
   * Stores files that `add` gives to an upload, for an app; answers with the identifier of the file or of the directory.
   * A single file is no directory unless `asDirectory` is set.
   */
  async upload(appId: string, add: (upload: Upload) => Promise<void>, asDirectory = false): Promise<string> {
    if (this.#uploads >= limits.uploadsTogether) throw failure('ERR_SERVICE_OVERLOADED', {})
    this.#uploads++
    try {
      const upload = new Upload(this.#thread, await this.#thread.call('beginUpload', []), this.#givingWay)
      try {
        await add(upload)
        const uploaded = await upload.finish(asDirectory)
        await this.#say(['files', 'files:created'], createdPayload(uploaded, appId))
        return uploaded.cid
      } finally {
        await upload.end()
      }
    } finally {
      this.#uploads--
    }
  }

  /** What an identifier or a name, and a path below it, lead to. */
  async find(root: string, path: readonly string[]): Promise<Found> {
    await this.#following.tried
    return await this.#thread.call('find', [root, path])
  }

  /** What the website of a host has at a path. */
  async findSite(host: string, path: readonly string[]): Promise<Found> {
    await this.#following.tried
    return await this.#thread.call('findSite', [host, path])
  }

  /** The bytes of a file from one place to another; the next ones are read while these are taken. */
  async *read(cid: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    let next = start < end ? this.#read(cid, start) : undefined
    for (let at = start; next !== undefined; ) {
      const piece = await next
      assert(piece.length > 0, 'a piece of a file has bytes')
      const taken = piece.subarray(0, end - at)
      at += taken.length
      await this.#givingWay.pass(taken.length)
      next = at < end ? this.#read(cid, at) : undefined
      yield taken
    }
  }

  async names(): Promise<NamedContent[]> {
    await this.#following.tried
    return await this.#thread.call('names', [])
  }

  /** Uploads that have no name, the newest first. */
  async unnamedUploads(): Promise<KeptContent[]> {
    await this.#following.tried
    return await this.#thread.call('unnamedUploads', [])
  }

  /** Gives a name to an identifier; answers with the one that it meant before. */
  bind(name: string, cid: string): Promise<string | undefined> {
    return this.#inTurn(async () => {
      const before = await this.#thread.call('cidOf', [name])
      await this.#say(['ans'], { Add: { name, cid, public: true, level: 'Prefetch' } })
      return before
    })
  }

  /** Takes a name away; answers with the identifier that it meant. */
  unbind(name: string): Promise<string | undefined> {
    return this.#inTurn(async () => {
      const before = await this.#thread.call('cidOf', [name])
      if (before !== undefined) await this.#say(['ans'], { Remove: { name } })
      return before
    })
  }

  /** Keeps an upload no longer, on any node; answers whether there was one. */
  remove(appId: string, given: string): Promise<boolean> {
    const cid = String(parseCid(given))
    return this.#inTurn(async () => {
      if (!(await this.#thread.call('isUploaded', [cid]))) return false
      await this.#say(['files', 'files:removed'], { type: 'removed', cid, app_id: appId })
      return true
    })
  }

  /** Keeps what a query finds, instead of what another query of the app has found. */
  async prefetch(appId: string, query: string, duration: Duration): Promise<void> {
    await this.#checkQuery(appId, query)
    const now = nowMs(this.#options.clock)
    const others = (await this.#thread.call('queries', [])).filter(({ app, until }) => app !== appId && until > now)
    if (others.length >= limits.standingQueries)
      throw failure('ERR_BAD_REQUEST', { cause: `There are ${limits.standingQueries} queries already.` })
    await this.#say(['files', 'files:pinned'], { PinAdded: { app_id: appId, query, duration } })
    await this.#queries.ask(appId)
  }

  /** Asks all standing queries anew. What fails is reported, and asked again before the next collection. */
  async askQueries(): Promise<void> {
    try {
      await this.#queries.ask()
    } catch (error) {
      this.#background.failed('keep_files', error, refusalIn(error) !== undefined)
    }
  }

  /** Evicts what nothing holds and the cache has no room for, over and over; replaces an interval that was set before. */
  collectEvery(seconds: number, cache: () => CacheLimits): void {
    this.#options.timers.clear(this.#timer)
    this.#timer = this.#options.timers.setInterval(() => void this.collectAndReport(cache()), seconds * 1000).unref()
  }

  /** The same once. What fails is reported. */
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

  /** Writes something that changes nothing: when that works, what the disk has refused before may work, too. */
  async probe(): Promise<void> {
    await this.#thread.call('probe', [])
    this.#thread.recovered()
  }

  async close(): Promise<void> {
    this.#options.timers.clear(this.#timer)
    this.#following.close()
    this.#queries.close()
    // Whoever began it is told when it fails.
    await this.#collecting?.catch(() => {})
    await this.#thread.close()
    await this.#followed
  }

  async #collect(cache: CacheLimits): Promise<void> {
    // What an event that was not heard yet, or a query by now, would keep must not go.
    if (!this.#following.isCaughtUp) return
    await this.#queries.ask()
    while (await this.#thread.call('collect', [cache]));
  }

  #read(cid: string, offset: number): Promise<Uint8Array> {
    const read = this.#thread.call('read', [cid, offset]).then((piece) => {
      if (piece === undefined) throw failure('ERR_NOT_FOUND', {})
      return piece
    })
    // Whoever waits for it is told.
    read.catch(() => {})
    return read
  }

  /** Throws unless there is sense in a query. A long one takes its time, which only the thread that reads has. */
  async #checkQuery(appId: string, query: string): Promise<void> {
    const found = await this.#options.events.validate({ appId, via: 'http', query, endpoint: 'query' })
    const { canonical, error } = JSON.parse(found) as { canonical?: string; error?: string }
    // What a query may use depends on where it is sent; what it says does not.
    if (canonical === undefined) throw failure('ERR_BAD_REQUEST', { cause: error ?? 'It is no query.' })
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#changing.then(() => this.#following.tried).then(change)
    // The caller is told of its own change; the next one only waits for it.
    this.#changing = changed.catch(() => {})
    return changed
  }

  /** Publishes what happened, and takes it over at once: whoever hears of the answer sees it. */
  async #say(tags: readonly string[], payload: unknown): Promise<void> {
    const body = Buffer.from(JSON.stringify({ data: [{ tags, payload }] }))
    const { data } = JSON.parse(String(await this.#options.events.publish(nodeAppId, body))) as { data: Published[] }
    const facts = data.flatMap(({ lamport, stream, timestamp }) => {
      const fact = factOf({ payload, timestamp })
      return fact === undefined ? [] : [{ fact, place: { lamport, stream } }]
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
