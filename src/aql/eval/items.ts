import type { Steps } from '../steps.ts'
import type { Metadata } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import type { Code } from './code.ts'
import { spreadable } from './literals.ts'
import type { Frame } from './variable-frame.ts'

/** An item of a list: of SELECT, or of an array that is a source. */
export interface ItemCode {
  readonly code: Code
  readonly spread: boolean
  /** Of an item that spreads a nested query: its results, each with its own metadata. */
  readonly results: ((frame: Frame) => Steps<readonly Found[]>) | undefined
}

export interface Found {
  readonly value: Value
  readonly metadata: Metadata
}

/** What an item comes to: one value, or several when it is spread. */
export function* foundBy({ code, spread, results }: ItemCode, frame: Frame): Steps<readonly Found[]> {
  if (results !== undefined) return yield* results(frame)
  const value = code.quick ? code.run(frame) : yield* code.run(frame)
  const metadata = code.origin.of(frame)
  return spread ? spreadable(value).map((item) => ({ value: item, metadata })) : [{ value, metadata }]
}
