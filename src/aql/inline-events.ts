import type { MainQuery, Micros } from './ast.ts'
import { AqlError } from './error.ts'
import { Pace, runToEnd, type Steps } from './steps.ts'
import { isAppId } from './text/app-id.ts'
import { readInstant } from './text/instants.ts'
import { memberText } from './text/member.ts'
import { Reader } from './text/text-reader.ts'
import { compareTexts } from './values/comparison.ts'

/** An event of `PRAGMA events`. */
export interface InlineEvent {
  /** The JSON text, verbatim: parsing and serialising it would lose the kinds of numbers. */
  readonly payload: string
  readonly tags: readonly string[]
  readonly appId: string
  readonly time: Micros
}

/**
 * The inline events of `PRAGMA events`, if there are any. Throws an AqlError with the line number of a malformed event.
 */
export function inlineEvents(query: MainQuery, now: Micros): readonly InlineEvent[] | undefined {
  return runToEnd(inlineEventSteps(query, now))
}

/** Cooperative variant: yields between units of work. */
export function* inlineEventSteps(query: MainQuery, now: Micros): Steps<readonly InlineEvent[] | undefined> {
  const pragma = query.pragmas.find(({ name }) => name === 'events')
  return pragma && (yield* eventSteps(pragma.value, now))
}

/** Parses events, one per line. Empty lines are ignored. */
export function parseEvents(text: string, now: Micros): readonly InlineEvent[] {
  return runToEnd(eventSteps(text, now))
}

/** Characters of an event that are parsed per unit of work. */
const charactersPerUnit = 8

function* eventSteps(text: string, now: Micros): Steps<readonly InlineEvent[]> {
  const pace = new Pace()
  const events: InlineEvent[] = []
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (pace.isDue(1 + line.length / charactersPerUnit)) yield
    if (line.trim() === '') continue
    try {
      events.push(eventOf(line, now))
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new AqlError('static', `PRAGMA events, line ${index + 1}: ${reason}`, 0)
    }
  }
  return events
}

function eventOf(line: string, now: Micros): InlineEvent {
  const fields: unknown = JSON.parse(line)
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw new Error('it is not a JSON object')
  const { tags = [], appId = 'com.actyx.test', timestamp, time } = fields as Record<string, unknown>
  const payload = memberText(line, 'payload')
  if (payload === undefined) throw new Error('there is no `payload`')
  if (hasInfinity((fields as Record<string, unknown>)['payload'])) throw new Error('number out of range')
  if (!isTags(tags)) throw new Error('`tags` has to be an array of non-empty strings')
  if (typeof appId !== 'string' || !isAppId(appId))
    throw new Error('`appId` has to be an app ID: lowercase letters, digits and dashes, with dots between the parts')
  return { payload, tags: tagSet(tags), appId, time: timeOf(timestamp, time, now) }
}

/** Whether a number overflowed: `JSON.parse` turns it into Infinity, which cannot be serialised. */
function hasInfinity(payload: unknown): boolean {
  const worklist = [payload]
  for (let value = worklist.pop(); value !== undefined; value = worklist.pop()) {
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return true
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) worklist.push(part)
  }
  return false
}

function isTags(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((tag) => typeof tag === 'string' && tag !== '')
}

/** Normalises tags like the store does: NFC, no duplicates, in byte order. */
function tagSet(tags: readonly string[]): readonly string[] {
  return [...new Set(tags.map((tag) => tag.normalize('NFC')))].sort(compareTexts)
}

function timeOf(timestamp: unknown, time: unknown, now: Micros): Micros {
  if (timestamp === undefined || timestamp === null)
    return (typeof time === 'string' ? isoTime(time) : undefined) ?? now
  if (typeof timestamp === 'number' && Number.isSafeInteger(timestamp) && timestamp >= 0) return BigInt(timestamp)
  throw new Error('`timestamp` has to be a whole number of microseconds')
}

const iso = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d\d:?\d\d)?$/

/**
 * Parses an ISO 8601 time. It is more lenient than an instant in a query: the zone defaults to UTC, and the fraction
 * may have any length.
 */
function isoTime(text: string): Micros | undefined {
  const [, date, time = '00:00', seconds = ':00', fraction = '', zone = 'Z'] = iso.exec(text.trim()) ?? []
  if (date === undefined) return undefined
  const offset = zone.toUpperCase().replace(/^([+-]\d\d):?/, '$1:')
  const read = readInstant(new Reader(`${date}T${time}${seconds}.${fraction.padEnd(9, '0')}${offset}`))
  return read !== undefined && 'time' in read ? read.time : undefined
}
