import { tuning } from '../../../base/tuning.ts'
import { LogCursor, type LogReader, NdjsonWriter, type Selection } from '../../sqlite/index.ts'
import type { Job, JobMaker } from './reader-host.ts'

/** Selected events as lines of JSON. */
class ReadJob implements Job {
  readonly #cursor: LogCursor
  readonly #lines = new NdjsonWriter(tuning.pieceBytes)

  constructor(reader: LogReader, selection: Selection) {
    this.#cursor = new LogCursor(reader, selection)
  }

  run(deadline: number): 'busy' | 'done' {
    this.#lines.clear()
    return this.#cursor.run(this.#lines, deadline) ? 'done' : 'busy'
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }
}

export const makeReadJob: JobMaker = (reader, selection) => new ReadJob(reader, selection as Selection)
