import { tuning } from '../../base/tuning.ts'
import type { EventCursor, EventReader, Selection } from '../port/index.ts'
import type { Job, JobMaker } from './job.ts'
import { NdjsonWriter } from './ndjson-writer.ts'

/** Reads selected events as NDJSON. */
class ReadJob implements Job {
  readonly #cursor: EventCursor
  readonly #lines = new NdjsonWriter(tuning.pieceBytes)

  constructor(reader: EventReader, selection: Selection) {
    this.#cursor = reader.cursor(selection)
  }

  begin(): void {
    this.#lines.clear()
  }

  get isFull(): boolean {
    return this.#lines.isFull
  }

  run(deadline: number): 'busy' | 'done' {
    return this.#cursor.run(this.#lines, deadline) ? 'done' : 'busy'
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }
}

export const makeReadJob: JobMaker = (reader, selection) => new ReadJob(reader, selection as Selection)
