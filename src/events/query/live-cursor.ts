import type { notReady, Plan } from '../../aql/index.ts'
import type { EventReader, Snapshot, StreamNumber } from '../../store/reading/index.ts'
import type { OffsetMap } from '../offsets.ts'
import { byNumber, offsetOf, presentOf } from './bounds.ts'
import type { JobSlice } from './job-slice.ts'
import { PlanCursor } from './plan-cursor.ts'
import { selectionOf } from './plan-selection.ts'
import type { StoredEvent } from './stored-event.ts'

/**
 * A cursor over the events of a plan after a lower bound: stored events, then new ones. It advances from snapshot to
 * snapshot, and reads the events between two snapshots in the total order.
 */
export class LiveCursor {
  /** The offsets of the first snapshot. */
  readonly present: OffsetMap
  /** The app of all its events, if the plan selects only one. */
  readonly appId: string | undefined
  readonly #reader: EventReader
  readonly #lowerBound: OffsetMap
  readonly #lower: Map<StreamNumber, number>
  readonly #cursor: PlanCursor
  #snapshot: Snapshot

  constructor(reader: EventReader, plan: Plan, lowerBound: OffsetMap, slice: JobSlice) {
    this.#reader = reader
    this.#lowerBound = lowerBound
    this.#snapshot = reader.snapshot()
    this.present = presentOf(reader, this.#snapshot)
    const [first] = plan.anyOf
    this.appId = plan.anyOf.every(({ appId }) => appId === first?.appId) ? first?.appId : undefined
    this.#lower = byNumber(reader, lowerBound)
    const selection = selectionOf(plan, 'asc', { lower: this.#lower })
    this.#cursor = new PlanCursor(reader, plan, selection, slice, { live: this.#snapshot })
  }

  /** Bytes that it holds between two slices. */
  get heldBytes(): number {
    return this.#cursor.heldBytes
  }

  /** The next event, `undefined` at the end of the snapshot, or `notReady` at the end of the slice. */
  next(): StoredEvent | typeof notReady | undefined {
    return this.#cursor.next()
  }

  /** Advances to the newest snapshot, at the end of the last one. Returns whether there may be new events. */
  extend(): boolean {
    const snapshot = this.#reader.snapshot()
    const grown = snapshot.grownSince(this.#snapshot)
    if (grown.length === 0) return false
    for (const number of grown) this.#bound(number)
    this.#cursor.extend(snapshot)
    this.#snapshot = snapshot
    return true
  }

  /** Applies the lower bound of the request to a stream that was not known before. */
  #bound(number: StreamNumber): void {
    if (this.#lower.has(number)) return
    const offset = offsetOf(this.#reader, this.#lowerBound, number)
    if (offset !== undefined) this.#lower.set(number, offset)
  }
}
