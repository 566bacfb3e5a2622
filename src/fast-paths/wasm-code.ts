/**
 * A tiny assembler for WebAssembly functions. Helpers are named after the instructions they emit; operands come first,
 * as WebAssembly is a stack machine.
 */
import { assert } from '../base/assert.ts'

/** A tree of bytecode: bytes, nested sequences, the bodies of blocks, and branches. */
export type Code = number | readonly Code[] | Body | Branch

/** The body of a block or loop, the target of branches. */
interface Body {
  readonly target: object
  readonly body: Code
}

/** A branch (`br`, `br_if`) out of a block or back to the start of a loop. */
interface Branch {
  readonly to: object
  readonly opcode: number
}

/** A local variable of a wasm function: an i32 or a v128. */
export interface Local {
  readonly get: Code
  set(value: Code): Code
}

const types = { i32: 0x7f, v128: 0x7b } as const

const unary =
  (opcode: number) =>
  (value: Code): Code => [value, opcode]

const binary =
  (opcode: number) =>
  (left: Code, right: Code): Code => [left, right, opcode]

export const i32 = {
  const: (value: number): Code => [0x41, signed(value)],
  load: (address: Code, offset: number): Code => [address, 0x28, 2, unsigned(offset)],
  load8: (address: Code, offset = 0): Code => [address, 0x2d, 0, unsigned(offset)],
  load16: (address: Code, offset: number): Code => [address, 0x2f, 1, unsigned(offset)],
  store: (address: Code, value: Code, offset = 0): Code => [address, value, 0x36, 2, unsigned(offset)],
  store8: (address: Code, value: Code): Code => [address, value, 0x3a, 0, 0],
  /** Whether a value is zero. */
  eqz: unary(0x45),
  eq: binary(0x46),
  ne: binary(0x47),
  /** Unsigned, like `leU`. */
  gtU: binary(0x4b),
  leU: binary(0x4d),
  /** Counts trailing zeros. */
  ctz: unary(0x68),
  add: binary(0x6a),
  sub: binary(0x6b),
  and: binary(0x71),
  or: binary(0x72),
  /** Adds a constant to a local. */
  increment: (variable: Local, by: number): Code => variable.set(i32.add(variable.get, i32.const(by))),
}

export const memory = {
  copy: (to: Code, from: Code, length: Code): Code => [to, from, length, 0xfc, 0x0a, 0, 0],
}

const simd = (opcode: number): Code => [0xfd, unsigned(opcode)]

const binarySimd =
  (opcode: number) =>
  (left: Code, right: Code): Code => [left, right, simd(opcode)]

export const v128 = {
  load: (address: Code, offset: number): Code => [address, simd(0x00), 0, unsigned(offset)],
  store: (address: Code, offset: number, value: Code): Code => [address, value, simd(0x0b), 0, unsigned(offset)],
  /** Bitwise or of all operands. */
  or: (first: Code, ...rest: readonly Code[]): Code => rest.reduce((before, next) => [before, next, simd(0x50)], first),
}

/** Instructions on sixteen bytes. Comparisons set all bits of the bytes for which they hold. */
export const i8x16 = {
  /** Copies a byte into all sixteen lanes. */
  splat: (value: Code): Code => [value, simd(0x0f)],
  eq: binarySimd(0x23),
  ne: binarySimd(0x24),
  ltU: binarySimd(0x26),
  geU: binarySimd(0x2c),
  sub: binarySimd(0x71),
  /** The highest bit of each byte as a 16-bit mask. */
  bitmask: (value: Code): Code => [value, simd(0x64)],
}

const opcodes = { block: 0x02, loop: 0x03, if: 0x04, else: 0x05, end: 0x0b, br: 0x0c, brIf: 0x0d } as const
const noResult = 0x40

/** A branch target: the end of a block, or the start of a loop. */
export interface Label {
  readonly br: Code
  brIf(condition: Code): Code
}

function labelled(opcode: number, body: (label: Label) => Code): Code {
  const target = {}
  const branch = (opcode: number): Branch => ({ to: target, opcode })
  const label = { br: branch(opcodes.br), brIf: (condition: Code) => [condition, branch(opcodes.brIf)] }
  return [opcode, noResult, { target, body: body(label) }, opcodes.end]
}

/** A block: branching to its label leaves it. */
export const block = (body: (end: Label) => Code): Code => labelled(opcodes.block, body)

/** A loop: branching to its label repeats it; without a branch it ends. */
export const loop = (body: (start: Label) => Code): Code => labelled(opcodes.loop, body)

export function ifElse(condition: Code, then: Code, otherwise?: Code): Code {
  const both: Code = otherwise === undefined ? then : [then, opcodes.else, otherwise]
  return [condition, opcodes.if, noResult, { target: {}, body: both }, opcodes.end]
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

  i32(): Local {
    return this.#add(types.i32)
  }

  v128(): Local {
    return this.#add(types.v128)
  }

  #add(type: number): Local {
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
    const bytes = flatten(content)
    return [unsigned(bytes.length), bytes]
  }
  const section = (id: number, content: Code): Code => [id, sized(content)]
  const exported = (name: string, kind: number): Code => [name.length, [...Buffer.from(name)], kind, 0]
  const { parameters } = locals
  const declarations = [unsigned(locals.types.length), locals.types.map((type) => [1, type])]
  const code: Code = [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [1, 0x60, parameters, Array.from({ length: parameters }, () => types.i32), 0]),
    section(3, [1, 0]),
    section(5, [1, 0, unsigned(pages)]),
    section(7, [2, exported('memory', 2), exported('run', 0)]),
    section(10, [1, sized([declarations, body, opcodes.end])]),
  ]
  return Uint8Array.from(flatten(code))
}

/** Flattens code into bytes, and resolves branches to relative depths. */
function flatten(code: Code): number[] {
  const bytes: number[] = []
  /** The enclosing blocks: the operand of a branch is the number of blocks to leave. */
  const enclosing: object[] = []
  const add = (code: Code): void => {
    if (typeof code === 'number') bytes.push(code)
    else if (!('target' in code || 'to' in code)) for (const part of code) add(part)
    else if ('target' in code) {
      enclosing.push(code.target)
      add(code.body)
      enclosing.pop()
    } else {
      const index = enclosing.lastIndexOf(code.to)
      assert(index >= 0, 'the target of a branch encloses it')
      bytes.push(code.opcode, ...unsigned(enclosing.length - 1 - index))
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
