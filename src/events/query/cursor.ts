import { type Cursor, later, type Plan } from '../../aql/index.ts'
import { nodeIdOf } from '../../identity/index.ts'
import { LogCursor, type LogReader, type ReadStream, type Selection, type StreamNumber } from '../../store/log/index.ts'
import { type NamedStream, StoredEvent } from './stored-event.ts'
import type { JobTurn } from './turn.ts'

/** The events of a plan, one by one, as long as the turn lasts. */
export class PlanCursor implements Cursor {
  readonly #cursor: LogCursor
  readonly #residual: Plan['residual']
  readonly #turn: JobTurn
  readonly #streams = new Map<StreamNumber, NamedStream>()
  #begun = -1

  constructor(reader: LogReader, plan: Plan, selection: Selection, turn: JobTurn, { live = false } = {}) {
    this.#cursor = new LogCursor(reader, selection, { live })
    this.#residual = plan.residual
    this.#turn = turn
  }

  next(): StoredEvent | typeof later | undefined {
    this.#begin()
    for (;;) {
      const at = this.#cursor.next()
      if (at?.block === undefined) return undefined
      const event = new StoredEvent(this.#named(at.stream), at.block, at.index)
      if (this.#residual?.(event) !== false) return event
      if (this.#turn.isOver()) return later
    }
  }

  /** Goes on to what has come to these streams. */
  extend(grown: Iterable<StreamNumber>): void {
    this.#cursor.extend(grown)
    this.#begun = -1
  }

  close(): void {}

  /** Between two turns something may have been removed. */
  #begin(): void {
    if (this.#begun === this.#turn.number) return
    this.#begun = this.#turn.number
    this.#cursor.begin()
  }

  #named(read: ReadStream): NamedStream {
    const known = this.#streams.get(read.number)
    if (known !== undefined) return known
    const named = { read, id: { node: nodeIdOf(read.key.node), number: read.key.number } }
    this.#streams.set(read.number, named)
    return named
  }
}
