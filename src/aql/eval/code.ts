import type { Steps } from '../steps.ts'
import { caught, type Failure } from '../values/failure.ts'
import { type Metadata, merge } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import type { Frame } from './variable-frame.ts'

/** A compiled expression. Only one with a sub-query inside is slow: it may have to give way. Both throw failures. */
export type Code = QuickCode | SlowCode

export interface QuickCode {
  readonly quick: true
  readonly run: (frame: Frame) => Value
  readonly origin: Origin
}

export interface SlowCode {
  readonly quick: false
  readonly run: (frame: Frame) => Steps<Value>
  readonly origin: Origin
}

/**
 * Where the metadata of a value is, once it has been computed. For most expressions that are the variables in them, which
 * is known beforehand and costs nothing per value. Otherwise `frame.computed` has it, until the next computation.
 */
export interface Origin {
  /** Of the variables; nothing when it takes computing to know. */
  readonly slots: readonly Slot[] | undefined
  readonly of: (frame: Frame) => Metadata
}

/** A variable: how many queries further out, and where there. */
export interface Slot {
  readonly hops: number
  readonly slot: number
}

export const nowhere: Origin = { slots: [], of: () => undefined }
export const computed: Origin = { slots: undefined, of: (frame) => frame.computed }

export function frameAt(frame: Frame, hops: number): Frame {
  let found = frame
  for (let i = 0; i < hops; i++) found = found.outer ?? found
  return found
}

export function originOf(slots: readonly Slot[]): Origin {
  const distinct = new Slots()
  distinct.add(slots)
  return distinct.origin()
}

/** The metadata of all of them together, if it can be known beforehand. */
export function knownOrigin(codes: readonly Code[]): Origin | undefined {
  const slots = new Slots()
  for (const { origin } of codes) {
    if (origin.slots === undefined) return undefined
    slots.add(origin.slots)
  }
  return slots.origin()
}

/** Up to here it is quicker to look at all slots than to have a set of them. */
const fewSlots = 8

/** Slots, each of them once. */
class Slots {
  readonly #slots: Slot[] = []
  #known: Set<number> | undefined

  add(slots: readonly Slot[]): void {
    for (const slot of slots) {
      if (this.#has(slot)) continue
      this.#slots.push(slot)
      if (this.#slots.length > fewSlots) this.#known ??= new Set(this.#slots.map(slotNumber))
      this.#known?.add(slotNumber(slot))
    }
  }

  origin(): Origin {
    const slots = this.#slots
    const [only, ...others] = slots
    if (only === undefined) return nowhere
    const { hops, slot } = only
    if (others.length > 0)
      return {
        slots,
        of: (frame) =>
          slots.reduce<Metadata>((sum, { hops, slot }) => merge(sum, frameAt(frame, hops).metadata[slot]), undefined),
      }
    if (hops === 0) return { slots, of: (frame) => frame.metadata[slot] }
    return { slots, of: (frame) => frameAt(frame, hops).metadata[slot] }
  }

  #has(slot: Slot): boolean {
    if (this.#known !== undefined) return this.#known.has(slotNumber(slot))
    return this.#slots.some((known) => known.hops === slot.hops && known.slot === slot.slot)
  }
}

function slotNumber({ hops, slot }: Slot): number {
  return hops * 2 ** 32 + slot
}

export function sameOrigins(codes: readonly Code[]): boolean {
  const all = knownOrigin(codes)?.slots
  return all !== undefined && codes.every(({ origin }) => origin.slots?.length === all.length)
}

export function constant(value: Value): Code {
  return { quick: true, run: () => value, origin: nowhere }
}

export function failing(failure: Failure): Code {
  const fail = (): never => {
    throw failure
  }
  return { quick: true, run: fail, origin: nowhere }
}

/** Computes from the values of all parts, from left to right; `metadataOf` tells where a part comes from. */
export type Combine = (values: readonly Value[], metadataOf: (part: number) => Metadata) => Value

/** The metadata of the result is that of the first `counted` parts together; mostly that is all of them. */
export function strict(parts: readonly Code[], combine: Combine, counted = parts.length): Code {
  if (!areQuick(parts)) {
    return { quick: false, run: (frame) => computeSlowly(frame, parts, combine, counted), origin: computed }
  }
  const all = knownOrigin(parts)
  const origin = all && (counted === parts.length ? all : knownOrigin(parts.slice(0, counted)))
  if (origin === undefined) {
    return { quick: true, run: (frame) => compute(frame, parts, combine, counted), origin: computed }
  }
  const run = (frame: Frame): Value => {
    const values: Value[] = []
    for (const part of parts) values.push(part.run(frame))
    return combine(values, (part) => parts[part]?.origin.of(frame))
  }
  return { quick: true, run, origin }
}

function areQuick(codes: readonly Code[]): codes is readonly QuickCode[] {
  for (const { quick } of codes) if (!quick) return false
  return true
}

function compute(frame: Frame, parts: readonly QuickCode[], combine: Combine, counted: number): Value {
  const values: Value[] = []
  const metadata: Metadata[] = []
  for (const part of parts) {
    values.push(part.run(frame))
    metadata.push(part.origin.of(frame))
  }
  return combined(frame, values, metadata, combine, counted)
}

function* computeSlowly(frame: Frame, parts: readonly Code[], combine: Combine, counted: number): Steps<Value> {
  const values: Value[] = []
  const metadata: Metadata[] = []
  for (const part of parts) {
    values.push(part.quick ? part.run(frame) : yield* part.run(frame))
    metadata.push(part.origin.of(frame))
  }
  return combined(frame, values, metadata, combine, counted)
}

function combined(
  frame: Frame,
  values: readonly Value[],
  metadata: readonly Metadata[],
  combine: Combine,
  counted: number,
): Value {
  const value = combine(values, (part) => metadata[part])
  let sum: Metadata
  for (let part = 0; part < counted; part++) sum = merge(sum, metadata[part])
  frame.computed = sum
  return value
}

/** The value of a code that is known to be quick. */
export function quickly(code: Code, frame: Frame): Value {
  if (!code.quick) throw new Error('a nested query has to be evaluated in steps')
  return code.run(frame)
}

/** The value of such a code, or what it failed with. */
export function attempt(code: Code, frame: Frame): Value | Failure {
  try {
    return quickly(code, frame)
  } catch (thrown) {
    return caught(thrown)
  }
}

export function* attemptSlowly(code: Code, frame: Frame): Steps<Value | Failure> {
  try {
    return code.quick ? code.run(frame) : yield* code.run(frame)
  } catch (thrown) {
    return caught(thrown)
  }
}
