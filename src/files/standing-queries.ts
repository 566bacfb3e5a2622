import { failure, messageOf, ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Events, OffsetMap, Reading } from '../events/index.ts'
import type { Logger } from '../logging/index.ts'
import { type Clock, nowMs } from '../runtime/clock.ts'
import { type BackgroundReporter, type CalledThread, refusalIn } from '../store/index.ts'
import { linesOf } from './lines.ts'
import type { FileStore, StandingQuery } from './thread/index.ts'
import { parseCid } from './unixfs/index.ts'

interface Parts {
  readonly thread: Pick<CalledThread<FileStore>, 'call'>
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
  readonly background: BackgroundReporter
}

interface Line {
  readonly type: string
  readonly payload?: unknown
  readonly offsets?: OffsetMap
}

/** The queries whose results apps want to be kept: asked now and then, and followed in between. */
export class StandingQueries {
  readonly #parts: Parts
  /** By app. */
  readonly #followed = new Map<string, Reading>()
  #asking: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Asks all of them anew, or that of one app, and keeps what they find until their time is over. */
  ask(app?: string): Promise<void> {
    // Whoever asked before is told what failed then.
    this.#asking = this.#asking.catch(() => {}).then(() => this.#ask(app))
    return this.#asking
  }

  close(): void {
    this.#isClosed = true
    for (const reading of this.#followed.values()) reading.cancel()
  }

  async #ask(app?: string): Promise<void> {
    const { thread, background } = this.#parts
    let hasFailed = false
    for (const standing of await thread.call('queries', []))
      try {
        if (app === undefined || app === standing.app) await this.#askOne(standing)
      } catch (error) {
        hasFailed = this.#failed(standing.app, error) || hasFailed
      }
    if (!hasFailed && app === undefined) background.succeeded('keep_files')
  }

  /** Answers whether it is a failure of the node: an app whose query cannot be answered says nothing against that. */
  #failed(app: string, error: unknown): boolean {
    const { log, background } = this.#parts
    if (error instanceof ShoalError && (error.status < 500 || error.code === 'ERR_SERVICE_OVERLOADED')) {
      log.warn(`the query of ${app} for files to keep failed: ${messageOf(error)}`)
      return false
    }
    background.failed('keep_files', error, refusalIn(error) !== undefined, `the query of ${app}`)
    return true
  }

  async #askOne({ app, query, until }: StandingQuery): Promise<void> {
    const { thread, events, clock } = this.#parts
    // What it would find meanwhile is found again: following goes on from where the question ends.
    this.#followed.get(app)?.cancel()
    const cids = new Set<string>()
    let offsets: OffsetMap | undefined
    if (until > nowMs(clock)) {
      const request = {
        query,
        appId: app,
        via: 'node',
        order: 'asc',
        lowerBound: {},
        upperBound: undefined,
      } as const
      for await (const lines of linesOf(events.query(request))) {
        for (const cid of cidsIn(lines as Line[])) cids.add(cid)
        if (cids.size > limits.standingQueryResults) throw tooMany()
        offsets = (lines as Line[]).find(({ type }) => type === 'offsets')?.offsets ?? offsets
      }
    }
    await thread.call('keepResults', [app, [...cids]])
    if (offsets !== undefined && !this.#isClosed) void this.#follow(app, query, offsets)
  }

  /** Keeps what the query finds in events that come, until it is asked again. One that cannot be followed has to wait for that. */
  async #follow(appId: string, query: string, lowerBound: OffsetMap): Promise<void> {
    let reading: Reading | undefined
    try {
      reading = this.#parts.events.subscribe({ query, appId, via: 'node', lowerBound })
      this.#followed.set(appId, reading)
      for await (const lines of linesOf(reading)) {
        const cids = cidsIn(lines as Line[])
        if (cids.length > 0) await this.#parts.thread.call('keepMore', [appId, cids])
      }
    } catch (error) {
      this.#parts.log.debug(`the query of ${appId} for files to keep is not followed: ${messageOf(error)}`)
    } finally {
      if (this.#followed.get(appId) === reading) this.#followed.delete(appId)
    }
  }
}

function tooMany(): ShoalError {
  return failure('ERR_BAD_REQUEST', { cause: `It finds more than ${limits.standingQueryResults} files.` })
}

/** The identifiers that were found; whatever else was found means nothing here. */
function cidsIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ payload }) =>
    typeof payload === 'string' && parseCid(payload) !== undefined ? [payload] : [],
  )
}
