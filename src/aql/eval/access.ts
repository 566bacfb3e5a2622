import { Failure } from '../values/failure.ts'
import { FieldReader } from '../values/json-field.ts'
import type { Metadata } from '../values/metadata.ts'
import { isNatural } from '../values/numbers.ts'
import { show } from '../values/show.ts'
import { textOf } from '../values/text.ts'
import { isPlain, kindOf, propertyOf, type Value } from '../values/value.ts'
import { type Code, type Combine, type QuickCode, strict } from './code.ts'
import type { Frame } from './variable-frame.ts'

/** A step of a path: a name or number that stands in the query, or one that is computed. */
export type Step = string | number | bigint | Code

/** `head.a[0][e]`. Where the value comes from is where the head comes from. */
export function access(head: Code, path: readonly Step[]): Code {
  const fixed = path.filter((step) => typeof step !== 'object')
  if (head.quick && fixed.length === path.length) return fixedAccess(head.run, head.origin, fixed)
  const parts = path.filter((step) => typeof step === 'object')
  const walk: Combine = ([thing, ...indexes], from) => {
    let next = 0
    const nameOf = (step: Step): Name =>
      typeof step === 'object' ? asName(indexes[next] as Value, from(++next)) : step
    return path.reduce((value: Value, step) => property(value, nameOf(step)), thing as Value)
  }
  return strict([head, ...parts], walk, 1)
}

/** `_.a` of an event, most of whose payload may be of no interest. */
export function inputField(head: QuickCode, name: string): Code {
  const whole = fixedAccess(head.run, head.origin, [name])
  if (name in ordinary) return whole
  const reader = new FieldReader(name)
  return { quick: true, run: (frame) => frame.field(reader) ?? whole.run(frame), origin: head.origin }
}

type Name = string | number | bigint

function fixedAccess(run: (frame: Frame) => Value, origin: Code['origin'], path: readonly Name[]): QuickCode {
  const [only, ...others] = path
  if (only === undefined || others.length > 0) {
    return { quick: true, run: (frame) => path.reduce(property, run(frame)), origin }
  }
  if (typeof only !== 'string' || only in ordinary)
    return { quick: true, run: (frame) => property(run(frame), only), origin }
  const field = (frame: Frame): Value => {
    const thing = run(frame)
    return (isPlain(thing) ? thing[only] : undefined) ?? property(thing, only)
  }
  return { quick: true, run: field, origin }
}

/** What every object has without being asked. */
const ordinary: object = Object.prototype

function property(thing: Value, name: Name): Value {
  const found = propertyOf(thing, name)
  if (found === undefined) throw new Failure(`property \`${textOf(name)}\` not found in ${kindOf(thing)}`)
  return found
}

function asName(index: Value, metadata: Metadata): Name {
  if (typeof index === 'string' || isNatural(index)) return index
  throw new Failure(`cannot index by ${show(index, metadata)}`)
}
