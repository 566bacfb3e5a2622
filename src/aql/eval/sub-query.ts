import { aqlLimits } from '../limits.ts'
import { Failure } from '../values/failure.ts'
import { MetadataSum } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { weightOf } from '../values/weight.ts'
import { type Code, computed } from './code.ts'
import { drive } from './drive.ts'
import { Frame, type Output } from './frame.ts'
import type { Found } from './items.ts'
import type { Program } from './program.ts'
import type { Steps } from './steps.ts'

/** A nested query as a value: the array of its results. */
export function subQuery(program: Program): Code {
  return { quick: false, run: (frame) => resultsAsValue(program, frame), origin: computed }
}

function* resultsAsValue(program: Program, around: Frame): Steps<Value> {
  const found = yield* subQueryResults(program, around)
  const origin = new MetadataSum()
  for (const { metadata } of found) origin.add(metadata)
  around.computed = origin.metadata
  return found.map(({ value }) => value)
}

/** The first failure of any kind is the failure of the whole. */
export function* subQueryResults(program: Program, around: Frame): Steps<readonly Found[]> {
  const results = new Results()
  const order = program.order === 'desc' ? 'desc' : 'asc'
  const frame = new Frame(program.slots, around.session, results, orderInUse(program, order), around)
  yield* drive(program, frame, around, order)
  return results.found
}

/** The items of an array come as they stand there, so that none of them is known to be the last. */
function orderInUse({ source }: Program, order: 'asc' | 'desc'): 'asc' | 'desc' | undefined {
  return source.kind === 'array' && order === 'desc' ? undefined : order
}

class Results implements Output {
  readonly found: Found[] = []
  #bytes = 0

  emit(frame: Frame, slot: number): void {
    const value = frame.values[slot] === undefined ? frame.read() : (frame.values[slot] as Value)
    this.found.push({ value, metadata: frame.metadata[slot] })
    if (this.found.length > aqlLimits.subQueryResults)
      throw new Failure(`a nested query has too many results (limit subQueryResults: ${aqlLimits.subQueryResults})`)
    this.#bytes += weightOf(value, aqlLimits.subQueryBytes)
    if (this.#bytes > aqlLimits.subQueryBytes)
      throw new Failure(`the results of a nested query are too large (limit subQueryBytes: ${aqlLimits.subQueryBytes})`)
  }

  failed(failure: Failure): void {
    throw failure
  }
}
