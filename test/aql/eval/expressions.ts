import { compileExpr } from '../../../src/aql/eval/compile.ts'
import { MemoryEvents } from '../../../src/aql/eval/memory-events.ts'
import { Frame, type Output, Session } from '../../../src/aql/eval/variable-frame.ts'
import { Scope } from '../../../src/aql/eval/variable-scope.ts'
import { parseExpr } from '../../../src/aql/index.ts'
import { runToEnd } from '../../../src/aql/steps.ts'
import { readJson } from '../../../src/aql/values/json-read.ts'
import type { Value } from '../../../src/aql/values/value.ts'
import { now } from './run.ts'

/** Evaluates an expression outside of a query. Throws its failure. */
export function evaluate(text: string, bindings: Readonly<Record<string, unknown>> = {}): Value {
  const { scope, frame } = frameWith(bindings)
  const code = compileExpr(parseExpr(text, { now }), scope)
  return code.sync ? code.run(frame) : runToEnd(code.run(frame))
}

/** A scope and frame with variables bound to values without metadata. */
export function frameWith(bindings: Readonly<Record<string, unknown>>): { scope: Scope; frame: Frame } {
  const names = Object.keys(bindings)
  const scope = new Scope(undefined, false, new Map(names.map((name, slot) => [name, slot])))
  const session = new Session(new MemoryEvents([]), 'com.example.test', { isOver: () => false })
  const frame = new Frame(names.length, session, unused)
  for (const [slot, name] of names.entries()) frame.set(slot, readJson(JSON.stringify(bindings[name])), undefined)
  return { scope, frame }
}

const unused: Output = {
  emit: () => {},
  failed: (failure) => {
    throw failure
  },
}
