import type { Steps } from '../steps.ts'
import { caught, Failure } from '../values/failure.ts'
import type { Value } from '../values/value.ts'
import { attempt, attemptSlowly, type Code, computed, failing, nowhere, type QuickCode, sameOrigins } from './code.ts'
import type { Frame } from './variable-frame.ts'

/** `a ?? b ?? c`: the first that does not fail, or the failure of the last. */
export function otherwise(options: readonly Code[]): Code {
  const quick = options.filter((option) => option.quick)
  if (quick.length < options.length) {
    return { quick: false, run: (frame) => firstSlowly(frame, options), origin: computed }
  }
  // Where it is the same whichever is chosen, the metadata is known beforehand after all.
  const known = sameOrigins(options) ? options[0]?.origin : undefined
  return { quick: true, run: (frame) => first(frame, quick), origin: known ?? computed }
}

function first(frame: Frame, options: readonly QuickCode[]): Value {
  let failure: unknown
  for (const { run, origin } of options) {
    try {
      const value = run(frame)
      frame.computed = origin.of(frame)
      return value
    } catch (thrown) {
      failure = caught(thrown)
    }
  }
  throw failure
}

function* firstSlowly(frame: Frame, options: readonly Code[]): Steps<Value> {
  let failure: unknown
  for (const option of options) {
    const result = yield* attemptSlowly(option, frame)
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

/** The value of the first clause whose condition is true; one that fails is not. */
export function cases(clauses: readonly Case<Code>[]): Code {
  const quick = clauses.filter((clause): clause is Case<QuickCode> => clause.condition.quick && clause.value.quick)
  if (quick.length < clauses.length) {
    return { quick: false, run: (frame) => chooseSlowly(frame, clauses), origin: computed }
  }
  const values = clauses.map(({ value }) => value)
  const known = sameOrigins(values) ? values[0]?.origin : undefined
  return { quick: true, run: (frame) => choose(frame, quick), origin: known ?? computed }
}

function choose(frame: Frame, clauses: readonly Case<QuickCode>[]): Value {
  for (const { condition, value } of clauses) {
    if (attempt(condition, frame) !== true) continue
    const chosen = value.run(frame)
    frame.computed = value.origin.of(frame)
    return chosen
  }
  throw noCase
}

function* chooseSlowly(frame: Frame, clauses: readonly Case<Code>[]): Steps<Value> {
  for (const { condition, value } of clauses) {
    if ((yield* attemptSlowly(condition, frame)) !== true) continue
    const chosen = value.quick ? value.run(frame) : yield* value.run(frame)
    frame.computed = value.origin.of(frame)
    return chosen
  }
  throw noCase
}

const noCase = new Failure('no case matched')

export function call(name: string, args: readonly Code[]): Code {
  if (name !== 'IsDefined') return failing(new Failure(`undefined function '${name}'`))
  const [argument] = args
  if (argument === undefined || args.length > 1) {
    const message = `wrong number of arguments: 'IsDefined' takes 1 argument but ${args.length} were provided`
    return failing(new Failure(message))
  }
  if (argument.quick) {
    return { quick: true, run: (frame) => !(attempt(argument, frame) instanceof Failure), origin: nowhere }
  }
  return { quick: false, run: (frame) => isDefined(frame, argument), origin: nowhere }
}

function* isDefined(frame: Frame, argument: Code): Steps<boolean> {
  return !((yield* attemptSlowly(argument, frame)) instanceof Failure)
}
