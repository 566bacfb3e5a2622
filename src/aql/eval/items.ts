import type { Steps } from '../steps.ts'
import type { Metadata } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import type { Code } from './code.ts'
import { spreadable } from './literals.ts'
import type { Frame } from './variable-frame.ts'

/** A compiled item of SELECT or of an array source. */
export interface ItemCode {
  readonly code: Code
  readonly spread: boolean
  /** For an item that spreads a sub-query: its results, each with its own metadata. */
  readonly results: ((frame: Frame) => Steps<readonly ItemResult[]>) | undefined
}

export interface ItemResult {
  readonly value: Value
  readonly metadata: Metadata
}

/** Evaluates an item: one value, or several when it is spread. */
export function* evaluateItem({ code, spread, results }: ItemCode, frame: Frame): Steps<readonly ItemResult[]> {
  if (results !== undefined) return yield* results(frame)
  const value = code.sync ? code.run(frame) : yield* code.run(frame)
  const metadata = code.origin.of(frame)
  return spread ? spreadable(value).map((item) => ({ value: item, metadata })) : [{ value, metadata }]
}
