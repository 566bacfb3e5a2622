import { compareFacts, type FactPlace } from '../replication/index.ts'
import { type FactEvent, factPlace, subjectOf } from './fact-event.ts'

/** The fact that wins about a subject. */
export interface WinningFact<E extends FactEvent> {
  readonly subject: string
  readonly place: FactPlace
  readonly event: E
}

/**
 * The winning fact about each subject. The result does not depend on the order in which events are added, nor on how
 * often: nodes that have the same facts have the same winners. Removals are facts like others, and never forgotten.
 */
export class WinningFacts<E extends FactEvent = FactEvent> {
  readonly #winners = new Map<string, WinningFact<E>>()

  /** Adds the fact of an event of a node, if it has one. Returns whether it wins. */
  add(event: E): boolean {
    const subject = subjectOf(event)
    if (subject === undefined) return false
    const place = factPlace(event)
    const known = this.#winners.get(subject)
    if (known !== undefined && compareFacts(place, known.place) <= 0) return false
    this.#winners.set(subject, { subject, place, event })
    return true
  }

  get size(): number {
    return this.#winners.size
  }

  get(subject: string): WinningFact<E> | undefined {
    return this.#winners.get(subject)
  }

  /** All winners, in the order of facts. */
  inOrder(): WinningFact<E>[] {
    return [...this.#winners.values()].sort((a, b) => compareFacts(a.place, b.place))
  }

  /** The winners of which another node, or another stream, has neither the fact itself nor a later one. */
  missingIn(others: WinningFacts<FactEvent>): WinningFact<E>[] {
    return this.inOrder().filter(({ subject, place }) => {
      const other = others.get(subject)
      return other === undefined || compareFacts({ key: other.place.key }, { key: place.key }) < 0
    })
  }
}
