import {
  AqlError,
  answer,
  checkFeatures,
  eventsOfStream,
  finish,
  type GivenEvent,
  givenEvents,
  MemoryEvents,
  MessageWriter,
  type Order,
  parseEvents,
  privateStream,
} from '../../aql/index.ts'
import { ShoalError } from '../../errors.ts'
import { nowMicros } from '../../time.ts'
import { readSource } from '../input.ts'
import type { Result } from '../output.ts'
import { readQuery } from './aql.ts'

export interface RunQueryOptions {
  /** A file with one event per line; those that the query brings along come before it. */
  readonly events: string | undefined
  readonly order: Order
}

/** Answers a query without a node, as the query endpoint of a node with just these events would. */
export async function runQuery(argument: string, { events: file, order }: RunQueryOptions): Promise<Result> {
  const query = readQuery(argument)
  const problem = checkFeatures(query, 'query')
  if (problem !== undefined) throw new ShoalError('ERR_INVALID_INPUT', problem.message)
  const given = givenEvents(query, BigInt(nowMicros())) ?? (file === undefined ? [] : eventsIn(file))
  const events = eventsOfStream(given)
  const lines: string[] = []
  const request = { events: new MemoryEvents(events), appId: localApp, order, turn: { isOver: () => false } }
  const isComplete = finish(answer(query, request, new MessageWriter((line) => lines.push(line))))
  if (isComplete) lines.push(offsetsLine(events.length))
  return { text: () => lines.join('\n'), json: lines.map((line) => JSON.parse(line) as unknown) }
}

/** What `appId(me)` is, where nobody has a token: that of events which do not say whose they are. */
const localApp = 'com.actyx.test'

function eventsIn(file: string): readonly GivenEvent[] {
  try {
    return parseEvents(readSource(file), BigInt(nowMicros()))
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    throw new ShoalError('ERR_INVALID_INPUT', thrown.detail.replace('PRAGMA events', file))
  }
}

function offsetsLine(events: number): string {
  const stream = `${privateStream.node}-${privateStream.number}`
  return JSON.stringify({ type: 'offsets', offsets: events === 0 ? {} : { [stream]: events - 1 } })
}
