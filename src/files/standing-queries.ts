import { messageOf } from '../errors.ts'
import type { Events } from '../events/index.ts'
import type { Logger } from '../log/index.ts'
import type { CalledThread } from '../store/index.ts'
import { linesOf } from './lines.ts'
import type { FileStore } from './thread/file-store.ts'
import { parseCid } from './unixfs/cid.ts'

/** Asks the standing queries of apps, and keeps what they find until their time is over. */
export async function keepResults(thread: CalledThread<FileStore>, events: Events, log: Logger): Promise<void> {
  for (const { app, query, until } of await thread.call('queries', [])) {
    try {
      const cids = until > Date.now() ? await resultsOf(events, app, query) : []
      await thread.call('keepResults', [app, cids])
    } catch (error) {
      log.warn(`the query of ${app} for files to keep failed: ${messageOf(error)}`)
    }
  }
}

/** The identifiers that a query finds; whatever else it finds means nothing here. */
async function resultsOf(events: Events, appId: string, query: string): Promise<string[]> {
  const cids = new Set<string>()
  const reading = events.query({ query, appId, via: 'websocket', order: 'asc', lowerBound: {}, upperBound: undefined })
  for await (const lines of linesOf(reading))
    for (const { payload } of lines as { readonly payload?: unknown }[])
      if (typeof payload === 'string' && parseCid(payload) !== undefined) cids.add(payload)
  return [...cids]
}
