import { Failure } from '../values/failure.ts'
import { FieldReader } from '../values/json-field.ts'
import type { Metadata } from '../values/metadata.ts'
import { isNatural } from '../values/numbers.ts'
import { show } from '../values/show.ts'
import { textOf } from '../values/text.ts'
import { isPlain, kindOf, propertyOf, type Value } from '../values/value.ts'
import { type Code, type Combine, type SyncCode, strict } from './code.ts'
import type { Frame } from './variable-frame.ts'

/** A step of a path: a literal key or index, or a computed one. */
export type Step = string | number | bigint | Code

/** `head.a[0][e]`. The result has the metadata of the head. */
export function access(head: Code, path: readonly Step[]): Code {
  const literals = path.filter((step) => typeof step !== 'object')
  if (head.sync && literals.length === path.length) return literalAccess(head.run, head.origin, literals)
  const parts = path.filter((step) => typeof step === 'object')
  const walk: Combine = ([first, ...indexes], from) => {
    let next = 0
    const nameOf = (step: Step): Name =>
      typeof step === 'object' ? asName(indexes[next] as Value, from(++next)) : step
    return path.reduce((value: Value, step) => property(value, nameOf(step)), first as Value)
  }
  return strict([head, ...parts], walk, 1)
}

/** `_.a` of an event: extracts the field without parsing the whole payload if possible. */
export function inputField(head: SyncCode, name: string): Code {
  const whole = literalAccess(head.run, head.origin, [name])
  if (name in inherited) return whole
  const reader = new FieldReader(name)
  return { sync: true, run: (frame) => frame.field(reader) ?? whole.run(frame), origin: head.origin }
}

type Name = string | number | bigint

function literalAccess(run: (frame: Frame) => Value, origin: Code['origin'], path: readonly Name[]): SyncCode {
  const [only, ...others] = path
  if (only === undefined || others.length > 0) {
    return { sync: true, run: (frame) => path.reduce(property, run(frame)), origin }
  }
  if (typeof only !== 'string' || only in inherited)
    return { sync: true, run: (frame) => property(run(frame), only), origin }
  const field = (frame: Frame): Value => {
    const value = run(frame)
    return (isPlain(value) ? value[only] : undefined) ?? property(value, only)
  }
  return { sync: true, run: field, origin }
}

/** Inherited by every object: these names need an own-property check. */
const inherited: object = Object.prototype

function property(container: Value, name: Name): Value {
  const found = propertyOf(container, name)
  if (found === undefined) throw new Failure(`property \`${textOf(name)}\` not found in ${kindOf(container)}`)
  return found
}

function asName(index: Value, metadata: Metadata): Name {
  if (typeof index === 'string' || isNatural(index)) return index
  throw new Failure(`cannot index by ${show(index, metadata)}`)
}
