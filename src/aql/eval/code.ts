import type { Steps } from '../steps.ts'
import { caught, type Failure } from '../values/failure.ts'
import { type Metadata, merge } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import type { Frame } from './variable-frame.ts'

/**
 * A compiled expression: a closure. Only one with a sub-query inside is stepwise, because it may have to yield. Both
 * throw failures.
 */
export type Code = SyncCode | StepwiseCode

export interface SyncCode {
  readonly sync: true
  readonly run: (frame: Frame) => Value
  /** Like `run`, but returns failures that are common instead of throwing them, which takes longer than most code. */
  readonly tryRun?: (frame: Frame) => Value | Failure
  readonly origin: Origin
}

export interface StepwiseCode {
  readonly sync: false
  readonly run: (frame: Frame) => Steps<Value>
  readonly origin: Origin
}

/**
 * Where to find the metadata of a computed value. For most expressions it is that of the variables in them, which is
 * known at compile time and costs nothing per value. Otherwise it is in `frame.computed` until the next evaluation.
 */
export interface Origin {
  /** The variables; `undefined` when the origin is only known at run time. */
  readonly slots: readonly Slot[] | undefined
  readonly of: (frame: Frame) => Metadata
}

/** The address of a variable: how many frames further out, and the slot there. */
export interface Slot {
  readonly hops: number
  readonly slot: number
}

export const noOrigin: Origin = { slots: [], of: () => undefined }
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

/** The merged origin of several expressions, if it is known at compile time. */
export function knownOrigin(codes: readonly Code[]): Origin | undefined {
  const slots = new Slots()
  for (const { origin } of codes) {
    if (origin.slots === undefined) return undefined
    slots.add(origin.slots)
  }
  return slots.origin()
}

/** Up to this size a linear search is faster than a set. */
const fewSlots = 8

/** A set of slots in insertion order. */
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
    if (only === undefined) return noOrigin
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
  return { sync: true, run: () => value, origin: noOrigin }
}

export function failing(failure: Failure): Code {
  const fail = (): never => {
    throw failure
  }
  return { sync: true, run: fail, origin: noOrigin }
}

/**
 * Combines the values of all operands, evaluated from left to right; `metadataOf` returns the metadata of an operand.
 */
export type Combine = (values: readonly Value[], metadataOf: (part: number) => Metadata) => Value

/**
 * Strict evaluation: all operands are evaluated before they are combined. The result has the merged metadata of the
 * first `counted` operands, by default of all.
 */
export function strict(parts: readonly Code[], combine: Combine, counted = parts.length): Code {
  if (!areSync(parts)) {
    return { sync: false, run: (frame) => computeInSteps(frame, parts, combine, counted), origin: computed }
  }
  const all = knownOrigin(parts)
  const origin = all && (counted === parts.length ? all : knownOrigin(parts.slice(0, counted)))
  if (origin === undefined) {
    return { sync: true, run: (frame) => compute(frame, parts, combine, counted), origin: computed }
  }
  const run = (frame: Frame): Value => {
    const values: Value[] = []
    for (const part of parts) values.push(part.run(frame))
    return combine(values, (part) => parts[part]?.origin.of(frame))
  }
  return { sync: true, run, origin }
}

function areSync(codes: readonly Code[]): codes is readonly SyncCode[] {
  for (const { sync } of codes) if (!sync) return false
  return true
}

function compute(frame: Frame, parts: readonly SyncCode[], combine: Combine, counted: number): Value {
  const values: Value[] = []
  const metadata: Metadata[] = []
  for (const part of parts) {
    values.push(part.run(frame))
    metadata.push(part.origin.of(frame))
  }
  return combined(frame, values, metadata, combine, counted)
}

function* computeInSteps(frame: Frame, parts: readonly Code[], combine: Combine, counted: number): Steps<Value> {
  const values: Value[] = []
  const metadata: Metadata[] = []
  for (const part of parts) {
    values.push(part.sync ? part.run(frame) : yield* part.run(frame))
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

/** Evaluates code that is known to be synchronous. */
export function evaluate(code: Code, frame: Frame): Value {
  if (!code.sync) throw new Error('a sub-query has to be evaluated in steps')
  return code.run(frame)
}

/** Evaluates synchronous code and catches its failure. */
export function attempt(code: Code, frame: Frame): Value | Failure {
  try {
    return code.sync && code.tryRun !== undefined ? code.tryRun(frame) : evaluate(code, frame)
  } catch (thrown) {
    return caught(thrown)
  }
}

export function* attemptInSteps(code: Code, frame: Frame): Steps<Value | Failure> {
  try {
    return code.sync ? code.run(frame) : yield* code.run(frame)
  } catch (thrown) {
    return caught(thrown)
  }
}
