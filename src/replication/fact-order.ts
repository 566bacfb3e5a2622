import { compareEventKeys, type EventKey } from './total-order.ts'

/** The place of a fact among all facts about the same subject. */
export interface FactPlace {
  /** Its event key; that of the original for a copy. */
  readonly key: EventKey
  /** The event key of the copy. */
  readonly copy?: EventKey | undefined
}

/**
 * The place of the fact in an event. A claim counts only if it is smaller than the key of the event: a late copy of an
 * old fact stays old, and no claim makes a fact newer than its event.
 */
export function placeOfFact(event: EventKey, claimed: EventKey | undefined): FactPlace {
  if (claimed === undefined || compareEventKeys(claimed, event) >= 0) return { key: event }
  return { key: claimed, copy: event }
}

/**
 * The order of facts about one subject: the last one wins. Of an original and its copies the last copy wins, so that a
 * node that never saw the original agrees with one that has.
 */
export function compareFacts(a: FactPlace, b: FactPlace): number {
  return compareEventKeys(a.key, b.key) || compareEventKeys(a.copy ?? a.key, b.copy ?? b.key)
}
