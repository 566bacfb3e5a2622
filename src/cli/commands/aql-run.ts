import { existsSync } from 'node:fs'
import { AqlError, type InlineEvent, type MainQuery, type Order, parseEvents, readsEvents } from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { queryEventList } from '../../events/query/offline-query.ts'
import { systemClock } from '../../runtime/clock.ts'
import { dataFolder } from '../environment.ts'
import { readSource } from '../input.ts'
import type { Streamed } from '../output/output.ts'
import { localApp, readValidQuery, writeResults } from './aql-results.ts'

export interface RunQueryOptions {
  /** A file with one event per line. Events in a pragma of the query take precedence over it. */
  readonly events: string | undefined
  /** The data folder of a stopped node. */
  readonly folder: string | undefined
  readonly order: Order
}

/**
 * Runs a query without a node, with the results of its query endpoint, on a file of events or on a data folder.
 * The default is the data folder of the other commands, unless the query needs no store.
 */
export function runQuery(argument: string, { events, folder, order }: RunQueryOptions): Streamed {
  return {
    stream: async () => {
      const { text, query } = readValidQuery(argument)
      if (events === undefined && (folder !== undefined || needsStore(query)))
        return await (await import('./aql-stored.ts')).queryDataFolder(text, storeAt(folder), order)
      const given = events === undefined ? [] : eventsIn(events)
      return await writeResults(queryEventList(given, { query: text, appId: localApp, order }, systemClock))
    },
  }
}

function needsStore(query: MainQuery): boolean {
  return readsEvents(query) && !query.pragmas.some(({ name }) => name === 'events')
}

function storeAt(option: string | undefined): string {
  const folder = dataFolder(option)
  if (option !== undefined || existsSync(folder)) return folder
  const message = `There is no data folder \`${folder}\` to read events from. Name the data folder of a stopped node with --working-dir, or a file of events with --events.`
  throw new ShoalError('ERR_INVALID_INPUT', message)
}

function eventsIn(file: string): readonly InlineEvent[] {
  try {
    return parseEvents(readSource(file), BigInt(systemClock.now()))
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    throw new ShoalError('ERR_INVALID_INPUT', thrown.detail.replace('PRAGMA events', file))
  }
}
