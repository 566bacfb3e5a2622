import type { MainQuery, Micros } from './ast.ts'
import { AqlError } from './error.ts'
import { finish, Pace, type Steps } from './steps.ts'
import { isAppId } from './text/app-id.ts'
import { readInstant } from './text/instants.ts'
import { memberText } from './text/member.ts'
import { Reader } from './text/text-reader.ts'
import { compareTexts } from './values/comparison.ts'

/** An event of `PRAGMA events`. */
export interface GivenEvent {
  /** Its JSON text as it was given: reading and writing it again would lose the kinds of numbers. */
  readonly payload: string
  readonly tags: readonly string[]
  readonly appId: string
  readonly time: Micros
}

/** The events that a query brings along, if it does. Throws an AqlError that names the line when one is none. */
export function givenEvents(query: MainQuery, now: Micros): readonly GivenEvent[] | undefined {
  return finish(givenSteps(query, now))
}

/** The same in steps. */
export function* givenSteps(query: MainQuery, now: Micros): Steps<readonly GivenEvent[] | undefined> {
  const pragma = query.pragmas.find(({ name }) => name === 'events')
  return pragma && (yield* eventSteps(pragma.value, now))
}

/** Reads events, one per line. Empty lines do not count. */
export function parseEvents(text: string, now: Micros): readonly GivenEvent[] {
  return finish(eventSteps(text, now))
}

/** Characters of an event that are read in a unit of work. */
const charactersPerUnit = 8

function* eventSteps(text: string, now: Micros): Steps<readonly GivenEvent[]> {
  const pace = new Pace()
  const events: GivenEvent[] = []
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

function eventOf(line: string, now: Micros): GivenEvent {
  const fields: unknown = JSON.parse(line)
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw new Error('it is not a JSON object')
  const { tags = [], appId = 'com.actyx.test', timestamp, time } = fields as Record<string, unknown>
  const payload = memberText(line, 'payload')
  if (payload === undefined) throw new Error('there is no `payload`')
  if (hasInfinity((fields as Record<string, unknown>)['payload'])) throw new Error('number out of range')
  if (!isTags(tags)) throw new Error('`tags` has to be an array of strings that are not empty')
  if (typeof appId !== 'string' || !isAppId(appId)) throw new Error('`appId` has to be the ID of an app')
  return { payload, tags: tagSet(tags), appId, time: timeOf(timestamp, time, now) }
}

/** Numbers beyond all doubles are read as this, and could not be written again. */
function hasInfinity(payload: unknown): boolean {
  const open = [payload]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return true
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) open.push(part)
  }
  return false
}

function isTags(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((tag) => typeof tag === 'string' && tag !== '')
}

/** Tags become what they would be in a store: normalised, without doubles, in the order of their bytes. */
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

/** ISO 8601 allows more than an instant of a query does: no zone is UTC, and a fraction may have any length. */
function isoTime(text: string): Micros | undefined {
  const [, date, time = '00:00', seconds = ':00', fraction = '', zone = 'Z'] = iso.exec(text.trim()) ?? []
  if (date === undefined) return undefined
  const offset = zone.toUpperCase().replace(/^([+-]\d\d):?/, '$1:')
  const read = readInstant(new Reader(`${date}T${time}${seconds}.${fraction.padEnd(9, '0')}${offset}`))
  return read !== undefined && 'time' in read ? read.time : undefined
}
