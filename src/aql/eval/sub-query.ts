import { aqlLimits } from '../language-limits.ts'
import type { Steps } from '../steps.ts'
import type { Allowance } from '../values/allowance.ts'
import { estimateBytes } from '../values/estimate-bytes.ts'
import { Failure } from '../values/failure.ts'
import { type Metadata, MetadataSum } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { type Code, computed } from './code.ts'
import { type Completion, drive } from './drive.ts'
import type { ItemResult } from './items.ts'
import type { Program } from './program.ts'
import { Frame, type Output } from './variable-frame.ts'

/** Compiles a sub-query to the array of its results. */
export function subQuery(program: Program): Code {
  return { sync: false, run: (frame) => runSubQuery(program, frame, asValue), origin: computed }
}

function asValue(results: Results<Value>, outer: Frame): Value {
  outer.computed = results.origin()
  return results.values
}

/** The individual results, each with its own metadata. */
export function subQueryResults(program: Program, outer: Frame): Steps<readonly ItemResult[]> {
  return runSubQuery(program, outer, ({ values, metadata }) =>
    values.map((value, at) => ({ value, metadata: metadata[at] })),
  )
}

type OutcomeOf<T> = (results: Results<T>, outer: Frame) => T

function runSubQuery<T>(program: Program, outer: Frame, outcomeOf: OutcomeOf<T>): Steps<T> {
  const order = program.order === 'desc' ? 'desc' : 'asc'
  // An array source has a fixed order, so a descending order does not help to stop early.
  const usableOrder = program.source.kind === 'array' && order === 'desc' ? undefined : order
  const results = new Results(outer, outcomeOf)
  return drive(program, new Frame(program.slots, outer.session, results, usableOrder, outer), outer, order, results)
}

/** Collects the results of a sub-query. The first failure of any kind fails the whole query. */
class Results<T> implements Output, Completion<T> {
  readonly values: Value[] = []
  readonly metadata: Metadata[] = []
  readonly #outer: Frame
  readonly #outcomeOf: OutcomeOf<T>
  readonly #allowance: Allowance
  readonly #spentBefore: number
  readonly #heldBefore: number
  /** Estimated size of the results. */
  #bytes = 0

  constructor(outer: Frame, outcomeOf: OutcomeOf<T>) {
    const { allowance } = outer.session
    this.#outer = outer
    this.#outcomeOf = outcomeOf
    this.#allowance = allowance
    this.#spentBefore = allowance.spent
    this.#heldBefore = allowance.held
    allowance.enter()
  }

  close(): void {
    this.#allowance.leave(this.#spentBefore, this.#heldBefore)
  }

  /** From here on the outer query holds the results. */
  outcome(): T {
    this.#allowance.spend(this.#bytes)
    return this.#outcomeOf(this, this.#outer)
  }

  emit(frame: Frame, slot: number): void {
    const value = frame.values[slot] === undefined ? frame.read() : (frame.values[slot] as Value)
    this.values.push(value)
    this.metadata.push(frame.metadata[slot])
    if (this.values.length > aqlLimits.subQueryResults)
      throw new Failure(`a nested query has too many results (limit subQueryResults: ${aqlLimits.subQueryResults})`)
    const size = estimateBytes(value, aqlLimits.subQueryBytes)
    this.#bytes += size
    this.#allowance.hold(size)
    if (this.#bytes > aqlLimits.subQueryBytes)
      throw new Failure(`the results of a nested query are too large (limit subQueryBytes: ${aqlLimits.subQueryBytes})`)
  }

  failed(failure: Failure): void {
    throw failure
  }

  /** The merged metadata of all results. */
  origin(): Metadata {
    if (this.metadata.length < 2) return this.metadata[0]
    const sum = new MetadataSum()
    for (const metadata of this.metadata) sum.add(metadata)
    return sum.metadata
  }
}
