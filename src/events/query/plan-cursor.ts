import { type Cursor, notReady, type Plan } from '../../aql/index.ts'
import { nodeIdOf } from '../../identity/index.ts'
import type {
  EventCursor,
  EventReader,
  ReadStream,
  Selection,
  Snapshot,
  StreamNumber,
} from '../../store/reading/index.ts'
import type { JobSlice } from './job-slice.ts'
import { type NamedStream, StoredEvent } from './stored-event.ts'

interface CursorOptions {
  readonly live?: Snapshot
  /** Called when it is closed. */
  readonly closed?: () => void
}

/** A cursor over the events of a plan that stops at the end of the slice. */
export class PlanCursor implements Cursor {
  readonly #cursor: EventCursor
  readonly #residual: Plan['residual']
  readonly #residualSteps: number
  readonly #slice: JobSlice
  readonly #streams = new Map<StreamNumber, NamedStream>()
  readonly #closed: (() => void) | undefined
  #begun = -1

  /** A live cursor reads up to a given snapshot, and can be extended to later ones. */
  constructor(
    reader: EventReader,
    plan: Plan,
    selection: Selection,
    slice: JobSlice,
    { live, closed }: CursorOptions = {},
  ) {
    this.#cursor = reader.cursor(selection, live)
    this.#closed = closed
    this.#residual = plan.residual
    this.#residualSteps = plan.residualSteps ?? 1
    this.#slice = slice
  }

  next(): StoredEvent | typeof notReady | undefined {
    this.#begin()
    for (;;) {
      const at = this.#cursor.next()
      if (at === undefined) return this.#cursor.isPending ? notReady : undefined
      const event = new StoredEvent(this.#named(at.stream), at.block, at.index)
      if (this.#residual?.(event) !== false) return event
      if (this.#slice.isOver(this.#residualSteps)) return notReady
    }
  }

  /** Bytes that it holds between two slices. */
  get heldBytes(): number {
    return this.#cursor.heldBytes
  }

  extend(snapshot: Snapshot): void {
    this.#cursor.extend(snapshot)
    this.#begun = -1
  }

  close(): void {
    this.#closed?.()
  }

  /** Events may have been removed since the last slice. */
  #begin(): void {
    if (this.#begun === this.#slice.number) return
    this.#begun = this.#slice.number
    this.#cursor.begin(this.#slice.deadline)
  }

  #named(read: ReadStream): NamedStream {
    const known = this.#streams.get(read.number)
    if (known !== undefined) return known
    const named = { read, id: { node: nodeIdOf(read.key.node), number: read.key.number } }
    this.#streams.set(read.number, named)
    return named
  }
}
