import type { later, Plan } from '../../aql/index.ts'
import type { LogReader, StreamNumber } from '../../store/log/index.ts'
import type { OffsetMap } from '../offsets.ts'
import { byNumber, offsetOf, presentOf } from './bounds.ts'
import { PlanCursor } from './cursor.ts'
import { selectionOf } from './selection.ts'
import type { StoredEvent } from './stored-event.ts'
import type { JobTurn } from './turn.ts'

/** The events of a plan after a lower bound: first those that are there, then those that come. */
export class Following {
  /** What there was when this began. */
  readonly present: OffsetMap
  /** The app that all of its events are of, if it is one. */
  readonly appId: string | undefined
  readonly #reader: LogReader
  readonly #lowerBound: OffsetMap
  readonly #lower: Map<StreamNumber, number>
  readonly #cursor: PlanCursor
  readonly #grown = new Set<StreamNumber>()

  constructor(reader: LogReader, plan: Plan, lowerBound: OffsetMap, turn: JobTurn) {
    this.#reader = reader
    this.#lowerBound = lowerBound
    this.present = presentOf(reader)
    const [first] = plan.anyOf
    this.appId = plan.anyOf.every(({ appId }) => appId === first?.appId) ? first?.appId : undefined
    this.#lower = byNumber(reader, lowerBound)
    const bounds = { lower: this.#lower, upper: byNumber(reader, this.present) }
    this.#cursor = new PlanCursor(reader, plan, selectionOf(plan, 'asc', bounds), turn, { live: true })
  }

  /** The next event; nothing when there is none for now; `later` when the turn is over. */
  next(): StoredEvent | typeof later | undefined {
    return this.#cursor.next()
  }

  /** Remembers that these streams have grown. */
  wake(grown: ReadonlySet<StreamNumber>): void {
    for (const stream of grown) this.#grown.add(stream)
  }

  /** Goes on to what has come since; answers whether there may be something. */
  extend(): boolean {
    if (this.#grown.size === 0) return false
    for (const number of this.#grown) this.#bound(number)
    this.#cursor.extend(this.#grown)
    this.#grown.clear()
    return true
  }

  /** A stream that nobody knew at the beginning may have a lower bound all the same. */
  #bound(number: StreamNumber): void {
    if (this.#lower.has(number)) return
    const offset = offsetOf(this.#reader, this.#lowerBound, number)
    if (offset !== undefined) this.#lower.set(number, offset)
  }
}
