import { messageOf } from '../errors.ts'
import type { Events, OffsetMap, Reading } from '../events/index.ts'
import type { Logger } from '../log/index.ts'
import type { CalledThread } from '../store/index.ts'
import { linesOf } from './lines.ts'
import type { StandingQuery } from './thread/catalogue.ts'
import type { FileStore } from './thread/file-store.ts'
import { parseCid } from './unixfs/cid.ts'

interface Parts {
  readonly thread: Pick<CalledThread<FileStore>, 'call'>
  readonly events: Events
  readonly log: Logger
}

interface Line {
  readonly type: string
  readonly payload?: unknown
  readonly offsets?: OffsetMap
}

/** The queries whose results apps want to be kept: asked now and then, and followed in between. */
export class StandingQueries {
  readonly #parts: Parts
  readonly #followed = new Set<Reading>()
  #asking: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Asks all of them anew, and keeps what they find until their time is over. */
  ask(): Promise<void> {
    this.#asking = this.#asking.catch(() => {}).then(() => this.#ask())
    return this.#asking
  }

  close(): void {
    this.#isClosed = true
    this.#stopFollowing()
  }

  async #ask(): Promise<void> {
    const { thread, log } = this.#parts
    // What would be found meanwhile is found again: following goes on from where the question ends.
    this.#stopFollowing()
    for (const standing of await thread.call('queries', []))
      try {
        await this.#askOne(standing)
      } catch (error) {
        log.warn(`the query of ${standing.app} for files to keep failed: ${messageOf(error)}`)
      }
  }

  async #askOne({ app, query, until }: StandingQuery): Promise<void> {
    const { thread, events } = this.#parts
    const cids = new Set<string>()
    let offsets: OffsetMap | undefined
    if (until > Date.now()) {
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
      this.#followed.add(reading)
      for await (const lines of linesOf(reading)) {
        const cids = cidsIn(lines as Line[])
        if (cids.length > 0) await this.#parts.thread.call('keepMore', [appId, cids])
      }
    } catch (error) {
      this.#parts.log.debug(`the query of ${appId} for files to keep is not followed: ${messageOf(error)}`)
    } finally {
      if (reading !== undefined) this.#followed.delete(reading)
    }
  }

  #stopFollowing(): void {
    for (const reading of this.#followed) reading.cancel()
    this.#followed.clear()
  }
}

/** The identifiers that were found; whatever else was found means nothing here. */
function cidsIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ payload }) =>
    typeof payload === 'string' && parseCid(payload) !== undefined ? [payload] : [],
  )
}
