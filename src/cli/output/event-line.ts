import { escapeLine } from '../../base/control-characters.ts'
import { parseResponse } from '../client/response-body.ts'

/** A message of a query or subscription. */
interface Message {
  readonly type: string
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly timestamp: number
  readonly appId: string
  readonly fromKey?: EventKey
  readonly toKey?: EventKey
  readonly fromTime?: number
  readonly toTime?: number
  readonly severity?: string
  readonly message?: string
  readonly newStart?: EventKey
}

interface EventKey {
  readonly lamport: number
  readonly stream: string
}

/** A message as a line for people; undefined for one that is not shown. Line breaks could forge a line: escaped. */
export function eventText(line: string): string | undefined {
  const text = messageText(line)
  return text === undefined ? undefined : escapeLine(text)
}

function messageText(line: string): string | undefined {
  const message = parseResponse<Message>(line, 'the node')
  switch (message.type) {
    case 'event':
      return `${originText(message)}: ${payloadIn(line)}`
    case 'antiEvent':
      return `- ${originText(message)}: ${payloadIn(line)}`
    case 'diagnostic':
      return `${message.severity === 'warning' ? 'Warning' : 'Error'}: ${message.message}`
    case 'timeTravel':
      return `time travel: an event arrived late, at ${message.newStart?.lamport}/${message.newStart?.stream}`
    default:
      return undefined
  }
}

/** The payload as it was published: parsing would change large numbers. Only `caughtUp` may come after it. */
function payloadIn(line: string): string {
  return /,"payload":(.*?)(?:,"caughtUp":(?:true|false))?\}\s*$/s.exec(line)?.[1] ?? 'null'
}

function originText(message: Message): string {
  const { fromKey, toKey, fromTime = 0, toTime = 0, timestamp, appId } = message
  if (fromKey !== undefined && toKey !== undefined) return `${at(fromKey, fromTime)} - ${at(toKey, toTime)}`
  // A result that depends on no event.
  if (appId === 'none' && timestamp === 0) return 'synthetic'
  return at(message, timestamp)
}

/** `<lamport>/<start of the node ID>-<stream number>@<time>` */
function at({ lamport, stream }: EventKey, micros: number): string {
  const [node = '', number = ''] = stream.split('-')
  return `${lamport}/${node.slice(0, 4)}-${number}@${localTime(micros)}`
}

/** RFC 3339 with microseconds, in the time zone of this machine. */
export function localTime(micros: number): string {
  const millis = Math.floor(micros / 1000)
  const offset = -new Date(millis).getTimezoneOffset()
  const local = new Date(millis + offset * 60_000).toISOString().slice(0, -1)
  const digits = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const zone = `${offset < 0 ? '-' : '+'}${digits(Math.abs(offset) / 60)}:${digits(Math.abs(offset) % 60)}`
  return `${local}${String(micros - millis * 1000).padStart(3, '0')}${zone}`
}
