import { invalidRequest, messageOf, ShoalError } from '../base/errors.ts'
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

/** Standing queries, whose results are pinned: run at intervals, with a subscription in between. */
export class StandingQueries {
  readonly #parts: Parts
  /** The open subscriptions, by app. */
  readonly #subscriptions = new Map<string, Reading>()
  #lastRun: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Runs all of them, or that of one app, and pins their results until they expire. */
  run(app?: string): Promise<void> {
    // A failure of the previous run was reported to its caller.
    this.#lastRun = this.#lastRun.catch(() => {}).then(() => this.#run(app))
    return this.#lastRun
  }

  close(): void {
    this.#isClosed = true
    for (const reading of this.#subscriptions.values()) reading.cancel()
  }

  async #run(app?: string): Promise<void> {
    const { thread, background } = this.#parts
    let hasFailed = false
    for (const standing of await thread.call('queries', []))
      try {
        if (app === undefined || app === standing.app) await this.#runOne(standing)
      } catch (error) {
        hasFailed = this.#failed(standing.app, error) || hasFailed
      }
    if (!hasFailed && app === undefined) background.succeeded('keep_files')
  }

  /** Returns whether the node is the cause. Errors of the query itself are only logged. */
  #failed(app: string, error: unknown): boolean {
    const { log, background } = this.#parts
    if (error instanceof ShoalError && (error.status < 500 || error.code === 'ERR_SERVICE_OVERLOADED')) {
      log.warn(`the query of ${app} for files to keep failed: ${messageOf(error)}`)
      return false
    }
    background.failed('keep_files', error, refusalIn(error) !== undefined, `the query of ${app}`)
    return true
  }

  async #runOne({ app, query, until }: StandingQuery): Promise<void> {
    const { thread, events, clock } = this.#parts
    // No result is lost: the new subscription starts at the offsets where the query ends.
    this.#subscriptions.get(app)?.cancel()
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
    await thread.call('pinResults', [app, [...cids]])
    if (offsets !== undefined && !this.#isClosed) void this.#subscribe(app, query, offsets)
  }

  /**
   * Pins the results in new events, until the query is run again. A query that cannot be a subscription is only run
   * again.
   */
  async #subscribe(appId: string, query: string, lowerBound: OffsetMap): Promise<void> {
    const { thread, events } = this.#parts
    let reading: Reading | undefined
    try {
      reading = events.subscribe({ query, appId, via: 'node', lowerBound })
      this.#subscriptions.set(appId, reading)
      for await (const lines of linesOf(reading)) {
        const cids = cidsIn(lines as Line[])
        if (cids.length > 0) await thread.call('pinMoreResults', [appId, cids])
      }
    } catch (error) {
      this.#parts.log.debug(`the query of ${appId} for files to keep is not followed: ${messageOf(error)}`)
    } finally {
      if (this.#subscriptions.get(appId) === reading) this.#subscriptions.delete(appId)
    }
  }
}

function tooMany(): ShoalError {
  return invalidRequest(`It finds more than ${limits.standingQueryResults} files.`)
}

/** The CIDs among the results; other results are ignored. */
function cidsIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ payload }) =>
    typeof payload === 'string' && parseCid(payload) !== undefined ? [payload] : [],
  )
}
