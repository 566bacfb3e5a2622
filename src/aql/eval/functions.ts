import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { attempt, attemptInSteps, type Code, failing, noOrigin } from './code.ts'
import type { Frame } from './variable-frame.ts'

/** A function of the language: the number of its arguments, and the compiler of a call. */
interface AqlFunction {
  readonly arity: number
  readonly compile: (args: readonly Code[]) => Code
}

/** All functions of the language by name. A new one is a new entry: parser and printer accept any name. */
const functions: Readonly<Record<string, AqlFunction>> = {
  /** Whether evaluating the argument succeeds. */
  IsDefined: define(1, (argument: Code) =>
    argument.sync
      ? { sync: true, run: (frame) => !(attempt(argument, frame) instanceof Failure), origin: noOrigin }
      : { sync: false, run: (frame) => isDefined(frame, argument), origin: noOrigin },
  ),
}

/** `call` checks the arity before it compiles a call. */
function define<Arguments extends readonly Code[]>(
  arity: Arguments['length'],
  compile: (...args: Arguments) => Code,
): AqlFunction {
  return { arity, compile: (args) => compile(...(args as Arguments)) }
}

/** A call of a function. An unknown name and a wrong number of arguments fail when the call is evaluated. */
export function call(name: string, args: readonly Code[]): Code {
  const called = Object.hasOwn(functions, name) ? functions[name] : undefined
  if (called === undefined) return failing(new Failure(`undefined function '${name}'`))
  const { arity, compile } = called
  if (args.length === arity) return compile(args)
  const takes = `takes ${arity} argument${arity === 1 ? '' : 's'}`
  return failing(new Failure(`wrong number of arguments: '${name}' ${takes} but ${args.length} were provided`))
}

function* isDefined(frame: Frame, argument: Code): Steps<boolean> {
  return !((yield* attemptInSteps(argument, frame)) instanceof Failure)
}
