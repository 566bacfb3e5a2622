import type { Slot } from './code.ts'

/**
 * Which variables can be seen from a place in the text, and where their values will stand. It changes as a query is
 * compiled from one stage to the next: copying it for each of them would take the square of their number.
 */
export class Scope {
  readonly #outer: Scope | undefined
  readonly #names: Map<string, number>
  /** Counts the slots of the query that this is a part of. */
  readonly slots: { count: number }
  /** Whether the first slot holds events, whose payloads are read when they are needed. */
  readonly ofEvents: boolean

  constructor(
    outer: Scope | undefined,
    ofEvents: boolean,
    names: Map<string, number> = new Map(),
    slots = { count: names.size },
  ) {
    this.#outer = outer
    this.#names = names
    this.slots = slots
    this.ofEvents = ofEvents
  }

  /** From now on a variable has a new value; answers with the slot where that is. */
  bind(name: string): number {
    const slot = this.slots.count++
    this.#names.set(name, slot)
    return slot
  }

  /** From now on a slot has a name. */
  name(name: string, slot: number): void {
    this.#names.set(name, slot)
  }

  /** The scope after all that the query has seen so far has become one value. */
  forget(): Scope {
    return new Scope(this.#outer, this.ofEvents, new Map(), this.slots)
  }

  find(name: string): (Slot & { isInput: boolean }) | undefined {
    const slot = this.#names.get(name)
    if (slot !== undefined) return { hops: 0, slot, isInput: this.ofEvents && slot === 0 }
    const further = this.#outer?.find(name)
    return further && { ...further, hops: further.hops + 1 }
  }
}
