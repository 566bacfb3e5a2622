import { assert } from '../base/assert.ts'

/** A tree of WebAssembly bytecode: bytes, nested sequences, blocks that can be branched to, and branches. */
export type Code = number | readonly Code[] | Scope | Jump

/** The body of a block or loop, the target of branches. */
interface Scope {
  readonly place: object
  readonly body: Code
}

/** A branch (`br`, `br_if`) out of a block or back to the start of a loop. */
interface Jump {
  readonly to: object
  readonly code: number
}

/** A local variable of a wasm function: an i32 or a v128. */
export interface Local {
  readonly get: Code
  set(value: Code): Code
}

const types = { number: 0x7f, vector: 0x7b } as const

/** Opcodes of binary i32 instructions; comparisons and shifts are unsigned. */
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
  /** Count trailing zeros (`i32.ctz`). */
  zerosBelow: (value: Code): Code => [value, 0x68],
  select: (condition: Code, one: Code, other: Code): Code => [one, other, condition, 0x1b],
  do: (operation: keyof typeof operations, one: Code, other: Code): Code => [one, other, operations[operation]],
  /** Increments a local. */
  increase: (place: Local, by: number): Code => place.set(number.do('add', place.get, number.constant(by))),
}

export const memory = {
  copy: (to: Code, from: Code, length: Code): Code => [to, from, length, 0xfc, 0x0a, 0, 0],
  fill: (to: Code, value: Code, length: Code): Code => [to, value, length, 0xfc, 0x0b, 0],
}

const vectorCode = (code: number): Code => [0xfd, unsigned(code)]

/** Left fold of a binary v128 instruction over its operands. */
const chained =
  (code: number) =>
  (first: Code, ...rest: readonly Code[]): Code =>
    rest.reduce((before, next) => [before, next, vectorCode(code)], first)

export const vector = {
  load: (address: Code, offset: number): Code => [address, vectorCode(0x00), 0, unsigned(offset)],
  store: (address: Code, offset: number, value: Code): Code => [address, value, vectorCode(0x0b), 0, unsigned(offset)],
  /** `i8x16.shuffle`: selects sixteen of the 32 bytes of two vectors. */
  shuffle: (one: Code, other: Code, bytes: readonly number[]): Code => [one, other, vectorCode(0x0d), bytes],
  /** `i32x4.splat`: copies a number into all four lanes. */
  splat: (value: Code): Code => [value, vectorCode(0x11)],
  /** `i8x16.splat`: copies a byte into all sixteen lanes. */
  splatByte: (value: Code): Code => [value, vectorCode(0x0f)],
  withLane: (value: Code, lane: number, replacement: Code): Code => [value, replacement, vectorCode(0x1c), lane],
  /** `i32x4.gt_u`: a mask of all ones in the lanes where it holds. */
  isAbove: (one: Code, other: Code): Code => [one, other, vectorCode(0x3c)],
  /** `i8x16.eq`, and further comparisons per byte. */
  isByte: (one: Code, other: Code): Code => [one, other, vectorCode(0x23)],
  isOtherByte: (one: Code, other: Code): Code => [one, other, vectorCode(0x24)],
  isByteBelow: (one: Code, other: Code): Code => [one, other, vectorCode(0x26)],
  isByteFrom: (one: Code, other: Code): Code => [one, other, vectorCode(0x2c)],
  subtractBytes: (one: Code, other: Code): Code => [one, other, vectorCode(0x71)],
  /** `i8x16.bitmask`: the highest bit of each byte as a 16-bit mask. */
  highBits: (value: Code): Code => [value, vectorCode(0x64)],
  or: chained(0x50),
  and: (one: Code, other: Code): Code => [one, other, vectorCode(0x4e)],
  xor: chained(0x51),
  add: chained(0xae),
  shiftLeft: (value: Code, bits: number): Code => [value, number.constant(bits), vectorCode(0xab)],
  shiftRight: (value: Code, bits: number): Code => [value, number.constant(bits), vectorCode(0xad)],
}

const [blockCode, loopCode, ifCode, elseCode, endCode, noResult] = [0x02, 0x03, 0x04, 0x05, 0x0b, 0x40]

/** A branch target: the end of a block, or the start of a loop. */
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

/** A block: branching to its target leaves it. */
export const block = (body: (end: Place) => Code): Code => scope(blockCode, body)

/** A loop: branching to its target repeats it; without a branch it ends. */
export const loop = (body: (start: Place) => Code): Code => scope(loopCode, body)

export function when(condition: Code, then: Code, otherwise?: Code): Code {
  const both: Code = otherwise === undefined ? then : [then, elseCode, otherwise]
  return [condition, ifCode, noResult, { place: {}, body: both }, endCode]
}

/** A do-while loop. */
export function repeat(body: Code, condition: Code): Code {
  return loop((start) => [body, start.goIf(condition)])
}

/** Allocates the locals of a function: its i32 parameters, then its variables. */
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

/** An instantiated wasm function and its linear memory. */
export interface WasmFunction {
  readonly memory: ArrayBuffer
  run(...parameters: readonly number[]): void
}

/** The parts of the WebAssembly API that are used here: the type declarations of Node lack it. */
declare const WebAssembly: {
  validate(bytes: Uint8Array<ArrayBuffer>): boolean
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (
    module: object,
  ) => { readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly run: WasmFunction['run'] } }
}

/** Instantiates a module. Undefined without SIMD support; throws without WebAssembly, or when out of memory. */
export function wasmFunction(module: Uint8Array<ArrayBuffer>): WasmFunction | undefined {
  if (!WebAssembly.validate(module)) return undefined
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module))
  return { memory: exports.memory.buffer, run: exports.run }
}

/** Encodes a module with one function, `run`, and a linear memory of `pages` pages. */
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

/** Flattens code into bytes, and resolves branches to relative depths. */
function flat(code: Code): number[] {
  const bytes: number[] = []
  /** The enclosing blocks: the operand of a branch is the number of blocks to leave. */
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
      assert(place >= 0, 'the target of a branch encloses it')
      bytes.push(code.code, ...unsigned(scopes.length - 1 - place))
    }
  }
  add(code)
  return bytes
}

/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

/** Signed LEB128 of an i32. */
function signed(value: number): number[] {
  const number = value | 0
  return number >= -0x40 && number < 0x40 ? [number & 0x7f] : [(number & 0x7f) | 0x80, ...signed(number >> 7)]
}
