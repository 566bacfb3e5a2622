import type { AqlEvent } from '../values/event.ts'
import { streamText } from '../values/event.ts'
import { type EventPlace, type Metadata, Span } from '../values/metadata.ts'

/** Takes the messages of a query in the order in which they are to be sent. */
export interface Sink {
  /** A result that is an event as it is stored: its bytes can be sent without looking at them. */
  unchanged(event: AqlEvent): void
  /** A result, as JSON; `anti` takes back an earlier one. */
  value(payload: string, metadata: Metadata, anti: boolean): void
  diagnostic(severity: Severity, message: string): void
}

export type Severity = 'warning' | 'error'

/** Writes messages as lines of JSON. */
export class MessageWriter implements Sink {
  readonly #line: (text: string) => void

  constructor(line: (text: string) => void) {
    this.#line = line
  }

  unchanged(event: AqlEvent): void {
    this.#line(`{"type":"event",${metadataJson(event)},"payload":${event.payload}}`)
  }

  value(payload: string, metadata: Metadata, anti: boolean): void {
    this.#line(`{"type":"${anti ? 'antiEvent' : 'event'}",${metadataJson(metadata)},"payload":${payload}}`)
  }

  diagnostic(severity: Severity, message: string): void {
    this.#line(`{"type":"diagnostic","severity":"${severity}","message":${JSON.stringify(message)}}`)
  }
}

/** What stands for an event where there is none, as clients know it. */
const noEvent = `"lamport":0,"stream":"${'.'.repeat(43)}-0","offset":0,"timestamp":0,"tags":[],"appId":"none"`

/** The members of a message that say where a value comes from. */
export function metadataJson(metadata: Metadata): string {
  if (metadata === undefined) return noEvent
  if (metadata instanceof Span) {
    const { first, last, earliest, latest } = metadata
    return `"fromKey":{${placeJson(first)}},"toKey":{${placeJson(last)}},"fromTime":${earliest},"toTime":${latest},${noEvent}`
  }
  const { time, tags, appId } = metadata
  return `${placeJson(metadata)},"timestamp":${time},"tags":${JSON.stringify(tags)},"appId":${JSON.stringify(appId)}`
}

function placeJson({ lamport, stream, offset }: EventPlace): string {
  return `"lamport":${lamport},"stream":"${streamText(stream)}","offset":${offset}`
}
