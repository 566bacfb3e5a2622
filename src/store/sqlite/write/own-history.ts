import type { StartMarks } from '../../../replication/index.ts'
import { rowKey } from '../rows/row-key.ts'
import type { LogState } from './log-state.ts'
import { clockRecordOf, putClockRecord } from './start-marks.ts'

/** What a log remembers about its own streams from one start to the next. */
export class OwnHistory {
  readonly #log: LogState

  constructor(log: LogState) {
    this.#log = log
  }

  get marks(): StartMarks {
    return this.#log.connection.marks.marks
  }

  announce(): void {
    const { marks } = this.#log.connection
    if (marks.isAnnounced) return
    this.#log.transaction(() => marks.announce(this.#log.database))
    marks.announced()
  }

  /** Ends the doubt about own streams. */
  settle(): void {
    const { marks } = this.#log.connection
    this.#log.transaction(() => {
      marks.settle(this.#log.database)
      this.#dropExpectedRedactions()
    })
    marks.settled()
  }

  /** What was last saved about the wall clock of the node. */
  get clockRecord(): string | undefined {
    return clockRecordOf(this.#log.database)
  }

  saveClockRecord(record: string): void {
    this.#log.transaction(() => putClockRecord(this.#log.database, record))
  }

  /** Stores the newest heads of own streams: a node with another key takes these streams for those of another node. */
  storeHeads(): void {
    this.#log.transaction(() => {
      for (const state of this.#log.streams) {
        const head = state.own ? this.#log.heads.own(state.key) : undefined
        if (head !== undefined) this.#log.saveStream(state, { head })
      }
    })
  }

  /** Removes what an interrupted change of the key has left: own streams have no stored heads. */
  dropHeads(): void {
    const { getStream } = this.#log.statements
    const left = [...this.#log.streams].filter(
      ({ own, number }) => own && (getStream.get(number)?.['head'] ?? null) !== null,
    )
    if (left.length === 0) return
    this.#log.transaction(() => {
      for (const state of left) this.#log.saveStream(state, { head: null })
    })
  }

  /** Records for events that were not adopted: new events get these offsets. */
  #dropExpectedRedactions(): void {
    const drop = this.#log.database.prepare('DELETE FROM redaction WHERE key >= ? AND key < ?')
    for (const { own, number, count } of this.#log.streams)
      if (own) drop.run(rowKey(number, count), rowKey(number + 1, 0))
  }
}
