import type { Slot } from './code.ts'

/**
 * The compile-time scope: the visible variables and their slots. It is mutated from stage to stage, because copying it
 * for each one would take quadratic time.
 */
export class Scope {
  readonly #outer: Scope | undefined
  readonly #names: Map<string, number>
  /** The slot counter of the query. */
  readonly slots: { count: number }
  /** Whether the first slot holds events, whose payloads are parsed lazily. */
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

  /** Binds a variable to a new slot and returns it. Shadows an earlier binding. */
  bind(name: string): number {
    const slot = this.slots.count++
    this.#names.set(name, slot)
    return slot
  }

  /** Binds a variable to an existing slot. */
  name(name: string, slot: number): void {
    this.#names.set(name, slot)
  }

  /** The scope after an AGGREGATE stage: earlier variables are gone. */
  afterAggregate(): Scope {
    return new Scope(this.#outer, this.ofEvents, new Map(), this.slots)
  }

  find(name: string): (Slot & { isInput: boolean }) | undefined {
    const slot = this.#names.get(name)
    if (slot !== undefined) return { hops: 0, slot, isInput: this.ofEvents && slot === 0 }
    const further = this.#outer?.find(name)
    return further && { ...further, hops: further.hops + 1 }
  }
}
