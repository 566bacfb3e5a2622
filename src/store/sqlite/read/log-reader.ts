import type { EventReader, Selection, Snapshot } from '../../port/index.ts'
import { BlockReader } from './block-reader.ts'
import { LogCursor } from './log-cursor.ts'

/** Reads the log of a topic. */
export class LogReader extends BlockReader implements EventReader {
  cursor(selection: Selection, live?: Snapshot): LogCursor {
    return new LogCursor(this, selection, { live })
  }
}
