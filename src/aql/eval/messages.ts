import type { AqlEvent } from '../values/event.ts'
import { streamText } from '../values/event.ts'
import type { JsonText } from '../values/json-write.ts'
import { type KeyWithOffset, type Metadata, Span } from '../values/metadata.ts'

/** Receives the messages of a query in sending order. */
export interface Sink {
  /** A result that is an unmodified event: its stored bytes can be sent as they are. */
  unchanged(event: AqlEvent): void
  /** A result as JSON; `anti` retracts an earlier one. */
  value(payload: JsonText, metadata: Metadata, anti: boolean): void
  diagnostic(severity: Severity, message: string): void
}

export type Severity = 'warning' | 'error'

/** Serialises messages as newline-delimited JSON. */
export class MessageWriter implements Sink {
  readonly #line: (text: string) => void
  readonly #longLine: (parts: readonly string[]) => void

  constructor(
    line: (text: string) => void,
    longLine: (parts: readonly string[]) => void = (parts) => line(parts.join('')),
  ) {
    this.#line = line
    this.#longLine = longLine
  }

  unchanged(event: AqlEvent): void {
    this.#line(`{"type":"event",${metadataJson(event)},"payload":${event.payload}}`)
  }

  value(payload: JsonText, metadata: Metadata, anti: boolean): void {
    const start = `{"type":"${anti ? 'antiEvent' : 'event'}",${metadataJson(metadata)},"payload":`
    if (typeof payload === 'string') this.#line(`${start}${payload}}`)
    else this.#longLine([start, ...payload, '}'])
  }

  diagnostic(severity: Severity, message: string): void {
    this.#line(`{"type":"diagnostic","severity":"${severity}","message":${JSON.stringify(message)}}`)
  }
}

/** Placeholder metadata for a value without an event, as clients expect it. */
const noEvent = `"lamport":0,"stream":"${'.'.repeat(43)}-0","offset":0,"timestamp":0,"tags":[],"appId":"none"`

/** The metadata members of a message. */
export function metadataJson(metadata: Metadata): string {
  if (metadata === undefined) return noEvent
  if (metadata instanceof Span) {
    const { first, last, earliest, latest } = metadata
    return `"fromKey":{${placeJson(first)}},"toKey":{${placeJson(last)}},"fromTime":${earliest},"toTime":${latest},${noEvent}`
  }
  const { time, tags, appId } = metadata
  return `${placeJson(metadata)},"timestamp":${time},"tags":${JSON.stringify(tags)},"appId":${JSON.stringify(appId)}`
}

function placeJson({ lamport, stream, offset }: KeyWithOffset): string {
  return `"lamport":${lamport},"stream":"${streamText(stream)}","offset":${offset}`
}
