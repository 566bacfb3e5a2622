import type { AqlEvent } from '../values/event.ts'
import type { KeyRange, TimeRange } from './key-ranges.ts'

/** The query plan: the part of a tag expression that is pushed down to the index, and the residual predicate. */
export interface Plan {
  /** A union of branches, a superset of the selected events. Empty when nothing can be selected. */
  readonly anyOf: readonly Branch[]
  /**
   * The predicate that filters the events of the branches. `undefined` when tags, app and node of the branches are
   * exact. It also covers keys and times, so an index may ignore those ranges of a branch.
   */
  readonly residual: ((event: AqlEvent) => boolean) | undefined
  /** Cost of the residual predicate per event, in steps of a time slice; 1 by default. */
  readonly residualSteps?: number
}

/** A conjunction: events that have all of these tags, this app, this node, and are in these ranges. */
export interface Branch {
  readonly tags: readonly string[]
  readonly appId?: string
  readonly own?: true
  readonly key?: KeyRange
  readonly time?: TimeRange
}
