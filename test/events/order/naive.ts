import type { PlainEvent } from './world.ts'

/** A message of a query or subscription, reduced to what depends on the order of events. */
export type Message =
  | { readonly type: 'event'; readonly stream: string; readonly offset: number; readonly caughtUp?: boolean }
  | { readonly type: 'offsets'; readonly offsets: Readonly<Record<string, number>> }
  | { readonly type: 'timeTravel'; readonly stream: string; readonly offset: number }

export type Offsets = Readonly<Record<string, number>>

export interface Wanted {
  /** The required tag. */
  readonly tag: 'a' | 'b' | 'any'
  /** Whether odd payloads are filtered out. */
  readonly evenOnly: boolean
}

/** The total order: by lamport timestamp, then by stream. */
export function inOrder(events: readonly PlainEvent[]): PlainEvent[] {
  return events.toSorted((a, b) => a.lamport - b.lamport || (a.stream < b.stream ? -1 : a.stream > b.stream ? 1 : 0))
}

export function isAfter(a: PlainEvent, b: PlainEvent): boolean {
  return a.lamport > b.lamport || (a.lamport === b.lamport && a.stream > b.stream)
}

export function presentOf(events: readonly PlainEvent[]): Record<string, number> {
  const present: Record<string, number> = {}
  for (const { stream, offset } of events) present[stream] = Math.max(offset, present[stream] ?? -1)
  return present
}

export function matches({ tag }: Wanted, { tags }: PlainEvent): boolean {
  return tag === 'any' || tags.includes(tag)
}

function passes({ evenOnly }: Wanted, { payload }: PlainEvent): boolean {
  return !evenOnly || payload % 2 === 0
}

function eventMessage({ stream, offset }: PlainEvent): Extract<Message, { type: 'event' }> {
  return { type: 'event', stream, offset }
}

function isAbove(bound: Offsets, { stream, offset }: PlainEvent): boolean {
  return offset > (bound[stream] ?? -1)
}

export function naiveQuery(
  all: readonly PlainEvent[],
  wanted: Wanted,
  lower: Offsets,
  upper: Offsets | undefined,
  order: 'asc' | 'desc',
): Message[] {
  const bound = upper ?? presentOf(all)
  const found = inOrder(all).filter(
    (event) => isAbove(lower, event) && !isAbove(bound, event) && matches(wanted, event) && passes(wanted, event),
  )
  return [...(order === 'asc' ? found : found.reverse()).map(eventMessage), { type: 'offsets', offsets: bound }]
}

/** `bursts` are the events that arrived before each read: first the past, then the new ones. Each burst is sorted. */
export function naiveSubscribe(bursts: readonly (readonly PlainEvent[])[], wanted: Wanted, lower: Offsets): Message[] {
  return bursts.flatMap((burst, i): Message[] => {
    const news = inOrder(burst).filter((event) => isAbove(lower, event) && matches(wanted, event))
    const results = news.filter((event) => passes(wanted, event)).map(eventMessage)
    return i === 0 ? [...results, { type: 'offsets', offsets: presentOf(burst) }] : results
  })
}

export function naiveMonotonic(bursts: readonly (readonly PlainEvent[])[], wanted: Wanted, lower: Offsets): Message[] {
  const past = inOrder(bursts[0] ?? [])
  let latest = past.findLast((event) => !isAbove(lower, event) && matches(wanted, event))
  const out: Message[] = []
  for (const [i, burst] of bursts.entries()) {
    const news = inOrder(burst).filter((event) => isAbove(lower, event) && matches(wanted, event))
    const [first] = news
    if (first !== undefined && latest !== undefined && !isAfter(first, latest))
      return [...out, { type: 'timeTravel', stream: first.stream, offset: first.offset }]
    latest = news.at(-1) ?? latest
    const results = news.filter((event) => passes(wanted, event)).map(eventMessage)
    out.push(...results.map((result, at) => ({ ...result, caughtUp: at === results.length - 1 })))
    if (i === 0) out.push({ type: 'offsets', offsets: presentOf(past) })
  }
  return out
}
