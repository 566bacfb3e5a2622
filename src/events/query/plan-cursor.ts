import { type Cursor, later, type Plan } from '../../aql/index.ts'
import { nodeIdOf } from '../../identity/index.ts'
import type {
  EventCursor,
  EventReader,
  ReadStream,
  Selection,
  Snapshot,
  StreamNumber,
} from '../../store/reading/index.ts'
import { type NamedStream, StoredEvent } from './stored-event.ts'
import type { JobTurn } from './turn.ts'

interface CursorOptions {
  readonly live?: Snapshot
  /** Called when it is closed. */
  readonly closed?: () => void
}

/** The events of a plan, one by one, as long as the turn lasts. */
export class PlanCursor implements Cursor {
  readonly #cursor: EventCursor
  readonly #residual: Plan['residual']
  readonly #residualSteps: number
  readonly #turn: JobTurn
  readonly #streams = new Map<StreamNumber, NamedStream>()
  readonly #closed: (() => void) | undefined
  #begun = -1

  /** A live one reads up to a given snapshot, and can be extended to later ones. */
  constructor(
    reader: EventReader,
    plan: Plan,
    selection: Selection,
    turn: JobTurn,
    { live, closed }: CursorOptions = {},
  ) {
    this.#cursor = reader.cursor(selection, live)
    this.#closed = closed
    this.#residual = plan.residual
    this.#residualSteps = plan.residualSteps ?? 1
    this.#turn = turn
  }

  next(): StoredEvent | typeof later | undefined {
    this.#begin()
    for (;;) {
      const at = this.#cursor.next()
      if (at === undefined) return this.#cursor.isOnItsWay ? later : undefined
      const event = new StoredEvent(this.#named(at.stream), at.block, at.index)
      if (this.#residual?.(event) !== false) return event
      if (this.#turn.isOver(this.#residualSteps)) return later
    }
  }

  /** Bytes that it holds until it goes on. */
  get heldBytes(): number {
    return this.#cursor.heldBytes
  }

  /** Goes on to a later snapshot. */
  extend(snapshot: Snapshot): void {
    this.#cursor.extend(snapshot)
    this.#begun = -1
  }

  close(): void {
    this.#closed?.()
  }

  /** Between two turns something may have been removed. */
  #begin(): void {
    if (this.#begun === this.#turn.number) return
    this.#begun = this.#turn.number
    this.#cursor.begin(this.#turn.deadline)
  }

  #named(read: ReadStream): NamedStream {
    const known = this.#streams.get(read.number)
    if (known !== undefined) return known
    const named = { read, id: { node: nodeIdOf(read.key.node), number: read.key.number } }
    this.#streams.set(read.number, named)
    return named
  }
}
