import { aqlLimits } from '../language-limits.ts'
import type { Steps } from '../steps.ts'
import type { Allowance } from '../values/allowance.ts'
import { Failure } from '../values/failure.ts'
import { type Metadata, MetadataSum } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { weightOf } from '../values/weight.ts'
import { type Code, computed } from './code.ts'
import { drive, type End } from './drive.ts'
import type { Found } from './items.ts'
import type { Program } from './program.ts'
import { Frame, type Output } from './variable-frame.ts'

/** A nested query as a value: the array of its results. */
export function subQuery(program: Program): Code {
  return { quick: false, run: (frame) => driven(program, frame, asValue), origin: computed }
}

function asValue(results: Results<Value>, around: Frame): Value {
  around.computed = results.origin()
  return results.values
}

/** The results one by one, each with its own metadata. */
export function subQueryResults(program: Program, around: Frame): Steps<readonly Found[]> {
  return driven(program, around, ({ values, metadata }) =>
    values.map((value, at) => ({ value, metadata: metadata[at] })),
  )
}

type OutcomeOf<T> = (results: Results<T>, around: Frame) => T

function driven<T>(program: Program, around: Frame, outcomeOf: OutcomeOf<T>): Steps<T> {
  const order = program.order === 'desc' ? 'desc' : 'asc'
  // The items of an array come as they stand there, so that none of them is known to be the last.
  const inUse = program.source.kind === 'array' && order === 'desc' ? undefined : order
  const results = new Results(around, outcomeOf)
  return drive(program, new Frame(program.slots, around.session, results, inUse, around), around, order, results)
}

/** What a nested query has come to. The first failure of any kind is the failure of the whole. */
class Results<T> implements Output, End<T> {
  readonly values: Value[] = []
  readonly metadata: Metadata[] = []
  readonly #around: Frame
  readonly #outcomeOf: OutcomeOf<T>
  readonly #allowance: Allowance
  readonly #spentBefore: number
  readonly #heldBefore: number
  /** Roughly what they take. */
  #bytes = 0

  constructor(around: Frame, outcomeOf: OutcomeOf<T>) {
    const { allowance } = around.session
    this.#around = around
    this.#outcomeOf = outcomeOf
    this.#allowance = allowance
    this.#spentBefore = allowance.spent
    this.#heldBefore = allowance.held
    allowance.enter()
  }

  close(): void {
    this.#allowance.leave(this.#spentBefore, this.#heldBefore)
  }

  /** From now on they are held by the query around. */
  outcome(): T {
    this.#allowance.spend(this.#bytes)
    return this.#outcomeOf(this, this.#around)
  }

  emit(frame: Frame, slot: number): void {
    const value = frame.values[slot] === undefined ? frame.read() : (frame.values[slot] as Value)
    this.values.push(value)
    this.metadata.push(frame.metadata[slot])
    if (this.values.length > aqlLimits.subQueryResults)
      throw new Failure(`a nested query has too many results (limit subQueryResults: ${aqlLimits.subQueryResults})`)
    const weight = weightOf(value, aqlLimits.subQueryBytes)
    this.#bytes += weight
    this.#allowance.hold(weight)
    if (this.#bytes > aqlLimits.subQueryBytes)
      throw new Failure(`the results of a nested query are too large (limit subQueryBytes: ${aqlLimits.subQueryBytes})`)
  }

  failed(failure: Failure): void {
    throw failure
  }

  /** Of all of them together. */
  origin(): Metadata {
    if (this.metadata.length < 2) return this.metadata[0]
    const sum = new MetadataSum()
    for (const metadata of this.metadata) sum.add(metadata)
    return sum.metadata
  }
}
