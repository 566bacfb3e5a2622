import type { later, Plan } from '../../aql/index.ts'
import type { EventReader, Snapshot, StreamNumber } from '../../store/reading/index.ts'
import type { OffsetMap } from '../offsets.ts'
import { byNumber, offsetOf, presentOf } from './bounds.ts'
import { PlanCursor } from './plan-cursor.ts'
import { selectionOf } from './plan-selection.ts'
import type { StoredEvent } from './stored-event.ts'
import type { JobTurn } from './turn.ts'

/**
 * The events of a plan after a lower bound: first those that are there, then those that come. It goes from one snapshot of all
 * streams to the next, and reads what is between two of them in the order of all events.
 */
export class Following {
  /** What there was when this began. */
  readonly present: OffsetMap
  /** The app that all of its events are of, if it is one. */
  readonly appId: string | undefined
  readonly #reader: EventReader
  readonly #lowerBound: OffsetMap
  readonly #lower: Map<StreamNumber, number>
  readonly #cursor: PlanCursor
  #snapshot: Snapshot

  constructor(reader: EventReader, plan: Plan, lowerBound: OffsetMap, turn: JobTurn) {
    this.#reader = reader
    this.#lowerBound = lowerBound
    this.#snapshot = reader.snapshot()
    this.present = presentOf(reader, this.#snapshot)
    const [first] = plan.anyOf
    this.appId = plan.anyOf.every(({ appId }) => appId === first?.appId) ? first?.appId : undefined
    this.#lower = byNumber(reader, lowerBound)
    const selection = selectionOf(plan, 'asc', { lower: this.#lower })
    this.#cursor = new PlanCursor(reader, plan, selection, turn, { live: this.#snapshot })
  }

  /** Bytes that it holds until it goes on. */
  get heldBytes(): number {
    return this.#cursor.heldBytes
  }

  /** The next event; nothing when there is none for now; `later` when the turn is over. */
  next(): StoredEvent | typeof later | undefined {
    return this.#cursor.next()
  }

  /** Goes on to the newest snapshot, after everything up to the last one was read. Answers whether there may be something. */
  extend(): boolean {
    const snapshot = this.#reader.snapshot()
    const grown = snapshot.grownSince(this.#snapshot)
    if (grown.length === 0) return false
    for (const number of grown) this.#bound(number)
    this.#cursor.extend(snapshot)
    this.#snapshot = snapshot
    return true
  }

  /** A stream that nobody knew at the beginning may have a lower bound all the same. */
  #bound(number: StreamNumber): void {
    if (this.#lower.has(number)) return
    const offset = offsetOf(this.#reader, this.#lowerBound, number)
    if (offset !== undefined) this.#lower.set(number, offset)
  }
}
