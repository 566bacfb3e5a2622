import type { Order } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import type { AqlEvent } from '../values/event.ts'

/**
 * Where the events of a query come from. A sub-query opens a cursor of its own each time it is evaluated, so the bounds
 * of the request are the business of whoever provides this, for all cursors alike.
 */
export interface Events {
  /**
   * The events of one of the plan's branches for which `plan.residual` holds. A `Failure` that is thrown here becomes
   * the diagnostic. `stream-asc` is only asked for by the outermost query.
   */
  open(plan: Plan, order: Order): Cursor
}

export interface Cursor {
  /**
   * The next event, nothing at the end, or `later` when the time for this turn is over: the query then gives way and
   * asks again. Events have to stay what they are for as long as somebody holds them.
   */
  next(): AqlEvent | typeof later | undefined
  /** Always called, also when the query stops before the end. */
  close(): void
}

/** Not the end, but enough for now. */
export const later: unique symbol = Symbol('later')

/** Says when it is another one's turn. */
export interface Turn {
  /** Whether a query has computed long enough, so many steps after the last time. It is asked after every event. */
  isOver(steps: number): boolean
  /** Whether so much was written that somebody has to take it first. It is looked at after every event. */
  readonly isFull?: boolean
  /** Bytes that the query holds until its next turn, roughly: it is set when the turn is over. */
  heldBytes?: number
}
