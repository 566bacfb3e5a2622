import { Failure } from '../values/failure.ts'
import { FieldReader, missing } from '../values/json-field.ts'
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
  const notFound = notFoundIn(emptyObject, name)
  const tryRun = (frame: Frame): Value | Failure => {
    const found = frame.field(reader)
    if (found === undefined) return whole.tryRun(frame)
    return found === missing ? notFound : found
  }
  return returningFailures(tryRun, head.origin)
}

const emptyObject: Value = {}

interface AccessCode extends SyncCode {
  readonly tryRun: (frame: Frame) => Value | Failure
}

function returningFailures(tryRun: AccessCode['tryRun'], origin: Code['origin']): AccessCode {
  const run = (frame: Frame): Value => {
    const result = tryRun(frame)
    if (result instanceof Failure) throw result
    return result
  }
  return { sync: true, run, tryRun, origin }
}

type Name = string | number | bigint

function literalAccess(run: (frame: Frame) => Value, origin: Code['origin'], path: readonly Name[]): AccessCode {
  const walk = (frame: Frame): Value | Failure => {
    let value = run(frame)
    for (const name of path) {
      const found = propertyOf(value, name)
      if (found === undefined) return notFoundIn(value, name)
      value = found
    }
    return value
  }
  const [only, ...others] = path
  if (others.length > 0 || typeof only !== 'string' || only in inherited) return returningFailures(walk, origin)
  const field = (frame: Frame): Value | Failure => {
    const value = run(frame)
    const found = (isPlain(value) ? value[only] : undefined) ?? propertyOf(value, only)
    return found === undefined ? notFoundIn(value, only) : found
  }
  return returningFailures(field, origin)
}

/** Inherited by every object: these names need an own-property check. */
const inherited: object = Object.prototype

function property(container: Value, name: Name): Value {
  const found = propertyOf(container, name)
  if (found === undefined) throw notFoundIn(container, name)
  return found
}

function notFoundIn(container: Value, name: Name): Failure {
  return new Failure(`property \`${textOf(name)}\` not found in ${kindOf(container)}`)
}

function asName(index: Value, metadata: Metadata): Name {
  if (typeof index === 'string' || isNatural(index)) return index
  throw new Failure(`cannot index by ${show(index, metadata)}`)
}
