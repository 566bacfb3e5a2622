import type { AqlEvent } from '../values/event.ts'
import type { KeyRange, TimeRange } from './key-ranges.ts'

/** Which events a query is about, in a form that an index can serve. */
export interface Plan {
  /** Every selected event is in one of these; none at all when nothing can be selected. */
  readonly anyOf: readonly Branch[]
  /**
   * What an event has to pass besides being in a branch. Nothing when tags, app and node of the branches say it all; an
   * index that knows nothing of keys and times need not look at those of a branch.
   */
  readonly residual: ((event: AqlEvent) => boolean) | undefined
  /** How much work that is for one event, in steps of a turn; one if it is not said. */
  readonly residualSteps?: number
}

/** Events that carry all of these tags, and are of this app, of this node, in these ranges. */
export interface Branch {
  readonly tags: readonly string[]
  readonly appId?: string
  readonly own?: true
  readonly key?: KeyRange
  readonly time?: TimeRange
}
