import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import type { Value } from '../values/value.ts'
import { attempt, attemptInSteps, type Code, computed, type SyncCode, sameOrigins } from './code.ts'
import type { Frame } from './variable-frame.ts'

/** `a ?? b ?? c`: the first operand that does not fail, or the failure of the last one. Short-circuits. */
export function otherwise(options: readonly Code[]): Code {
  const sync = options.filter((option) => option.sync)
  if (sync.length < options.length) {
    return { sync: false, run: (frame) => firstInSteps(frame, options), origin: computed }
  }
  // If all operands have the same origin, the metadata is known at compile time after all.
  const known = sameOrigins(options) ? options[0]?.origin : undefined
  return { sync: true, run: (frame) => first(frame, sync), origin: known ?? computed }
}

function first(frame: Frame, options: readonly SyncCode[]): Value {
  let failure: unknown
  for (const option of options) {
    const result = attempt(option, frame)
    if (!(result instanceof Failure)) {
      frame.computed = option.origin.of(frame)
      return result
    }
    failure = result
  }
  throw failure
}

function* firstInSteps(frame: Frame, options: readonly Code[]): Steps<Value> {
  let failure: unknown
  for (const option of options) {
    const result = yield* attemptInSteps(option, frame)
    if (!(result instanceof Failure)) {
      frame.computed = option.origin.of(frame)
      return result
    }
    failure = result
  }
  throw failure
}

interface Case<Kind extends Code> {
  readonly condition: Kind
  readonly value: Kind
}

/** CASE: the value of the first clause whose condition is true. A condition that fails counts as false. */
export function cases(clauses: readonly Case<Code>[]): Code {
  const sync = clauses.filter((clause): clause is Case<SyncCode> => clause.condition.sync && clause.value.sync)
  if (sync.length < clauses.length) {
    return { sync: false, run: (frame) => chooseInSteps(frame, clauses), origin: computed }
  }
  const values = clauses.map(({ value }) => value)
  const known = sameOrigins(values) ? values[0]?.origin : undefined
  return { sync: true, run: (frame) => choose(frame, sync), origin: known ?? computed }
}

function choose(frame: Frame, clauses: readonly Case<SyncCode>[]): Value {
  for (const { condition, value } of clauses) {
    if (attempt(condition, frame) !== true) continue
    const chosen = value.run(frame)
    frame.computed = value.origin.of(frame)
    return chosen
  }
  throw noCaseMatched
}

function* chooseInSteps(frame: Frame, clauses: readonly Case<Code>[]): Steps<Value> {
  for (const { condition, value } of clauses) {
    if ((yield* attemptInSteps(condition, frame)) !== true) continue
    const chosen = value.sync ? value.run(frame) : yield* value.run(frame)
    frame.computed = value.origin.of(frame)
    return chosen
  }
  throw noCaseMatched
}

const noCaseMatched = new Failure('no case matched')
