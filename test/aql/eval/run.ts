import type { MainQuery, Order, Query } from '../../../src/aql/ast.ts'
import type { EventProvider } from '../../../src/aql/eval/event-provider.ts'
import { eventsOfStream, MemoryEvents } from '../../../src/aql/eval/memory-events.ts'
import { MessageWriter } from '../../../src/aql/eval/messages.ts'
import { evaluateQuery } from '../../../src/aql/eval/query.ts'
import { inlineEvents, parseQuery } from '../../../src/aql/index.ts'
import { runToEnd } from '../../../src/aql/steps.ts'
import type { AqlEvent } from '../../../src/aql/values/event.ts'

export const stream = { node: 'z4tgHvrmNRMcPHN.XHzNd0hXvTqXn5AmcCTmzQZrJ0I', number: 0 }
export const now = 1_700_000_000_000_000n

/** The event fields that a test sets; the rest follows from the position in the list. */
export interface TestEvent {
  readonly payload?: unknown
  /** The payload as JSON text, for tests that depend on the spelling of numbers. */
  readonly json?: string
  readonly tags?: readonly string[]
  readonly appId?: string
  readonly lamport?: number
  readonly timestamp?: number
  readonly stream?: number
}

export function eventsFrom(given: readonly TestEvent[], first = 0): AqlEvent[] {
  const offsets = new Map<number, number>()
  return given.map(
    (
      {
        payload,
        json = JSON.stringify(payload),
        tags = [],
        appId = 'com.example.test',
        lamport,
        timestamp,
        stream: number = 0,
      },
      at,
    ) => {
      const offset = offsets.get(number) ?? first
      offsets.set(number, offset + 1)
      return {
        lamport: lamport ?? first + at + 1,
        stream: { ...stream, number },
        offset,
        time: timestamp ?? Number(now) + first + at,
        tags,
        appId,
        own: true,
        payload: json,
      }
    },
  )
}

export interface Message {
  readonly type: string
  readonly payload?: unknown
  readonly severity?: string
  readonly message?: string
  readonly [field: string]: unknown
}

export interface Options {
  readonly order?: Order
  readonly appId?: string
  /** An event source that replaces the events. */
  readonly port?: EventProvider
}

/** The messages of a query, with `offsets` at the end when it is complete. */
export function messagesOf(query: Query | string, events: readonly AqlEvent[], options: Options = {}): Message[] {
  return linesOf(query, events, options).map((line) => JSON.parse(line) as Message)
}

export function linesOf(query: Query | string, events: readonly AqlEvent[], options: Options = {}): string[] {
  const parsed = typeof query === 'string' ? parseQuery(query, { now }) : query
  const lines: string[] = []
  const { order = 'asc', appId = 'com.example.test', port = new MemoryEvents(events) } = options
  const inlineEvents = inlineEventsOf(parsed)
  const request = {
    events: inlineEvents ? new MemoryEvents(inlineEvents) : port,
    appId,
    order,
    slice: { isOver: () => false, isFull: false },
  }
  if (runToEnd(evaluateQuery(parsed, request, new MessageWriter((line) => lines.push(line)))))
    lines.push('{"type":"offsets"}')
  return lines
}

/** The inline events of `PRAGMA events`. */
export function inlineEventsOf(query: Query): readonly AqlEvent[] | undefined {
  const given = 'pragmas' in query ? inlineEvents(query as MainQuery, now) : undefined
  return given && eventsOfStream(given, stream)
}
