import type { Order } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import type { AqlEvent } from '../values/event.ts'

/**
 * Provides the events of a query. A sub-query opens a cursor each time it is evaluated, so the implementation applies the
 * bounds of the request to all cursors.
 */
export interface EventProvider {
  /**
   * Opens a cursor over the events of the plan's branches that satisfy `plan.residual`. A thrown `Failure` becomes the
   * diagnostic. Only the outermost query uses `stream-asc`.
   */
  open(plan: Plan, order: Order): Cursor
}

export interface Cursor {
  /**
   * The next event, `undefined` at the end, or `notReady` when the time slice is used up: the query then yields and
   * calls again. Events must stay valid as long as they are referenced.
   */
  next(): AqlEvent | typeof notReady | undefined
  /** Always called, also when the query stops before the end. */
  close(): void
}

/** Returned by a cursor that has to yield before the end. */
export const notReady: unique symbol = Symbol('notReady')

/** The time slice of a query in cooperative scheduling. */
export interface Slice {
  /** Whether the time slice is used up, given the steps since the last call. Called after every event. */
  isOver(steps: number): boolean
  /** Backpressure: whether the output buffer is full. Checked after every event. */
  readonly isFull?: boolean
  /** Estimated bytes that the query holds until its next time slice; set when it yields. */
  heldBytes?: number
}
