import { assert } from '../base/assert.ts'

/** Instructions of WebAssembly: bytes, in as many parts as they were put together from, and what jumps between them. */
export type Code = number | readonly Code[] | Scope | Jump

/** A piece of code that can be left, or begun again. */
interface Scope {
  readonly place: object
  readonly body: Code
}

/** Leaves a piece of code, or begins it again. */
interface Jump {
  readonly to: object
  readonly code: number
}

/** A place for a number of 32 bits, or for a vector of four of them, while a function runs. */
export interface Local {
  readonly get: Code
  set(value: Code): Code
}

const types = { number: 0x7f, vector: 0x7b } as const

/** What is done to numbers of 32 bits, by its code in the specification of WebAssembly. */
const operations = {
  isEqual: 0x46,
  isOther: 0x47,
  isBelow: 0x49,
  isAbove: 0x4b,
  isAtMost: 0x4d,
  add: 0x6a,
  subtract: 0x6b,
  and: 0x71,
  or: 0x72,
  shiftLeft: 0x74,
  shiftRight: 0x76,
  rotateLeft: 0x77,
} as const

export const number = {
  constant: (value: number): Code => [0x41, signed(value)],
  load: (address: Code, offset: number): Code => [address, 0x28, 2, unsigned(offset)],
  loadByte: (address: Code, offset = 0): Code => [address, 0x2d, 0, unsigned(offset)],
  loadHalf: (address: Code, offset: number): Code => [address, 0x2f, 1, unsigned(offset)],
  store: (address: Code, value: Code, offset = 0): Code => [address, value, 0x36, 2, unsigned(offset)],
  storeByte: (address: Code, value: Code): Code => [address, value, 0x3a, 0, 0],
  isZero: (value: Code): Code => [value, 0x45],
  /** How many bits are 0 below the lowest one that is not. */
  zerosBelow: (value: Code): Code => [value, 0x68],
  /** The one or the other. */
  select: (condition: Code, one: Code, other: Code): Code => [one, other, condition, 0x1b],
  do: (operation: keyof typeof operations, one: Code, other: Code): Code => [one, other, operations[operation]],
  /** The next value of a place is so much more than the last one. */
  increase: (place: Local, by: number): Code => place.set(number.do('add', place.get, number.constant(by))),
}

export const memory = {
  copy: (to: Code, from: Code, length: Code): Code => [to, from, length, 0xfc, 0x0a, 0, 0],
  fill: (to: Code, value: Code, length: Code): Code => [to, value, length, 0xfc, 0x0b, 0],
}

const vectorCode = (code: number): Code => [0xfd, unsigned(code)]

/** From left to right, each with what came of those before it. */
const chained =
  (code: number) =>
  (first: Code, ...rest: readonly Code[]): Code =>
    rest.reduce((before, next) => [before, next, vectorCode(code)], first)

export const vector = {
  load: (address: Code, offset: number): Code => [address, vectorCode(0x00), 0, unsigned(offset)],
  store: (address: Code, offset: number, value: Code): Code => [address, value, vectorCode(0x0b), 0, unsigned(offset)],
  /** Sixteen of the bytes of two vectors. */
  shuffle: (one: Code, other: Code, bytes: readonly number[]): Code => [one, other, vectorCode(0x0d), bytes],
  /** A number in all four places. */
  splat: (value: Code): Code => [value, vectorCode(0x11)],
  /** A byte in all sixteen places. */
  splatByte: (value: Code): Code => [value, vectorCode(0x0f)],
  withLane: (value: Code, lane: number, replacement: Code): Code => [value, replacement, vectorCode(0x1c), lane],
  /** All bits, in the places where it is so. */
  isAbove: (one: Code, other: Code): Code => [one, other, vectorCode(0x3c)],
  /** The same of bytes. */
  isByte: (one: Code, other: Code): Code => [one, other, vectorCode(0x23)],
  isOtherByte: (one: Code, other: Code): Code => [one, other, vectorCode(0x24)],
  isByteBelow: (one: Code, other: Code): Code => [one, other, vectorCode(0x26)],
  isByteFrom: (one: Code, other: Code): Code => [one, other, vectorCode(0x2c)],
  subtractBytes: (one: Code, other: Code): Code => [one, other, vectorCode(0x71)],
  /** The highest bit of each byte, together in a number. */
  highBits: (value: Code): Code => [value, vectorCode(0x64)],
  or: chained(0x50),
  and: (one: Code, other: Code): Code => [one, other, vectorCode(0x4e)],
  xor: chained(0x51),
  add: chained(0xae),
  shiftLeft: (value: Code, bits: number): Code => [value, number.constant(bits), vectorCode(0xab)],
  shiftRight: (value: Code, bits: number): Code => [value, number.constant(bits), vectorCode(0xad)],
}

const [blockCode, loopCode, ifCode, elseCode, endCode, noResult] = [0x02, 0x03, 0x04, 0x05, 0x0b, 0x40]

/** Goes there: behind a block, or to the beginning of a loop. */
export interface Place {
  readonly go: Code
  goIf(condition: Code): Code
}

function scope(code: number, body: (place: Place) => Code): Code {
  const place = {}
  const jump = (code: number): Jump => ({ to: place, code })
  const within = body({ go: jump(0x0c), goIf: (condition) => [condition, jump(0x0d)] })
  return [code, noResult, { place, body: within }, endCode]
}

/** Code that can be left. */
export const block = (body: (end: Place) => Code): Code => scope(blockCode, body)

/** Code that can be begun again; otherwise it ends. */
export const loop = (body: (start: Place) => Code): Code => scope(loopCode, body)

export function when(condition: Code, then: Code, otherwise?: Code): Code {
  const both: Code = otherwise === undefined ? then : [then, elseCode, otherwise]
  return [condition, ifCode, noResult, { place: {}, body: both }, endCode]
}

/** Does the body, and again for as long as the condition is not 0. */
export function repeat(body: Code, condition: Code): Code {
  return loop((start) => [body, start.goIf(condition)])
}

/** The places that a function has: numbers that are given to it, and what it asks for. */
export class Locals {
  readonly parameters: number
  readonly #types: number[] = []

  constructor(parameters: number) {
    this.parameters = parameters
  }

  get types(): readonly number[] {
    return this.#types
  }

  parameter(index: number): Local {
    return local(index)
  }

  number(): Local {
    return this.#new(types.number)
  }

  vector(): Local {
    return this.#new(types.vector)
  }

  vectors(count: number): Local[] {
    return Array.from({ length: count }, () => this.vector())
  }

  #new(type: number): Local {
    return local(this.parameters + this.#types.push(type) - 1)
  }
}

function local(index: number): Local {
  return { get: [0x20, unsigned(index)], set: (value) => [value, 0x21, unsigned(index)] }
}

/** A function, and the memory that it works with. */
export interface WasmFunction {
  readonly memory: ArrayBuffer
  run(...parameters: readonly number[]): void
}

/** What is used of it: the types of Node do not have it. */
declare const WebAssembly: {
  validate(bytes: Uint8Array<ArrayBuffer>): boolean
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (
    module: object,
  ) => { readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly run: WasmFunction['run'] } }
}

/** Makes a module ready. Nothing where there are no vectors; where there is no WebAssembly, or no memory for it, it fails. */
export function wasmFunction(module: Uint8Array<ArrayBuffer>): WasmFunction | undefined {
  if (!WebAssembly.validate(module)) return undefined
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module))
  return { memory: exports.memory.buffer, run: exports.run }
}

/** A module with one function, `run`, and so many pages of memory. */
export function wasmModule(locals: Locals, body: Code, pages: number): Uint8Array<ArrayBuffer> {
  const sized = (content: Code): Code => {
    const bytes = flat(content)
    return [unsigned(bytes.length), bytes]
  }
  const section = (id: number, content: Code): Code => [id, sized(content)]
  const exported = (name: string, kind: number): Code => [name.length, [...Buffer.from(name)], kind, 0]
  const { parameters } = locals
  const declared = [unsigned(locals.types.length), locals.types.map((type) => [1, type])]
  const code: Code = [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [1, 0x60, parameters, Array.from({ length: parameters }, () => types.number), 0]),
    section(3, [1, 0]),
    section(5, [1, 0, unsigned(pages)]),
    section(7, [2, exported('memory', 2), exported('run', 0)]),
    section(10, [1, sized([declared, body, 0x0b])]),
  ]
  return Uint8Array.from(flat(code))
}

/** The bytes of code. */
function flat(code: Code): number[] {
  const bytes: number[] = []
  /** What it stands within: a jump says how much of that it leaves. */
  const scopes: object[] = []
  const add = (code: Code): void => {
    if (typeof code === 'number') bytes.push(code)
    else if (!('place' in code || 'to' in code)) for (const part of code) add(part)
    else if ('place' in code) {
      scopes.push(code.place)
      add(code.body)
      scopes.pop()
    } else {
      const place = scopes.lastIndexOf(code.to)
      assert(place >= 0, 'a jump leads to what is around it')
      bytes.push(code.code, ...unsigned(scopes.length - 1 - place))
    }
  }
  add(code)
  return bytes
}

/** A number in base 128, the low digits first. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

/** The same of one of 32 bits with its sign. */
function signed(value: number): number[] {
  const number = value | 0
  return number >= -0x40 && number < 0x40 ? [number & 0x7f] : [(number & 0x7f) | 0x80, ...signed(number >> 7)]
}
