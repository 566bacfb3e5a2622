import { AqlError, type GivenEvent, type Order, parseEvents } from '../../aql/index.ts'
import { ShoalError } from '../../errors.ts'
import { queryGiven } from '../../events/query/stopped.ts'
import { nowMicros } from '../../time.ts'
import { readSource } from '../input.ts'
import type { Streamed } from '../output.ts'
import { answered, localApp, readAnswerable } from './aql-answer.ts'

export interface RunQueryOptions {
  /** A file with one event per line; those that the query brings along come before it. */
  readonly events: string | undefined
  readonly order: Order
}

/** Answers a query without a node, as the query endpoint of a node with just these events would. */
export function runQuery(argument: string, { events: file, order }: RunQueryOptions): Streamed {
  return {
    stream: async () => {
      const query = readAnswerable(argument)
      const events = file === undefined ? [] : eventsIn(file)
      return await answered(queryGiven(events, { query, appId: localApp, order }))
    },
  }
}

function eventsIn(file: string): readonly GivenEvent[] {
  try {
    return parseEvents(readSource(file), BigInt(nowMicros()))
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    throw new ShoalError('ERR_INVALID_INPUT', thrown.detail.replace('PRAGMA events', file))
  }
}
