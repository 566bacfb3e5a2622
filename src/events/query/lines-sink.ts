import {
  type AqlEvent,
  type JsonText,
  MessageWriter,
  type Metadata,
  type Severity,
  type Sink,
} from '../../aql/index.ts'
import type { NdjsonWriter } from '../../store/reading/index.ts'
import { StoredEvent } from './stored-event.ts'

/** Writes the messages of a query as lines. Unchanged events and metadata are copied as stored bytes. */
export class LinesSink implements Sink {
  readonly #lines: NdjsonWriter
  readonly #writer: MessageWriter
  /** The message of a fatal error, which ends the results. */
  error: string | undefined

  constructor(lines: NdjsonWriter) {
    this.#lines = lines
    this.#writer = new MessageWriter(
      (line) => lines.line(line),
      (parts) => lines.longLine(parts),
    )
  }

  unchanged(event: AqlEvent): void {
    if (event instanceof StoredEvent) this.#lines.event(event.read, event.block, event.index)
    else this.#writer.unchanged(event)
  }

  value(payload: JsonText, metadata: Metadata, anti: boolean): void {
    if (metadata instanceof StoredEvent && typeof payload === 'string' && !anti)
      this.#lines.eventWith(payload, metadata.block, metadata.index)
    else this.#writer.value(payload, metadata, anti)
  }

  diagnostic(severity: Severity, message: string): void {
    if (severity === 'error') this.error = message
    this.#writer.diagnostic(severity, message)
  }
}
