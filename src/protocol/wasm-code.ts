/** Where something is kept while a function runs: a number of 32 bits, or a vector of four of them. */
export type Local = number & { readonly local: unique symbol }

const types = { number: 0x7f, vector: 0x7b } as const

/** The few instructions of WebAssembly that are needed here, by their codes in its specification. */
const codes = {
  loop: 0x03,
  end: 0x0b,
  branchIf: 0x0d,
  select: 0x1b,
  getLocal: 0x20,
  setLocal: 0x21,
  teeLocal: 0x22,
  load: 0x28,
  store: 0x36,
  storeByte: 0x3a,
  constant: 0x41,
  isBelow: 0x49,
  isAbove: 0x4b,
  add: 0x6a,
  subtract: 0x6b,
  and: 0x71,
  or: 0x72,
  shiftLeft: 0x74,
  shiftRight: 0x76,
  rotateLeft: 0x77,
} as const
const memoryCodes = { copy: [0xfc, 0x0a, 0, 0], fill: [0xfc, 0x0b, 0] } as const
const vectorCodes = {
  load: 0x00,
  store: 0x0b,
  shuffle: 0x0d,
  splat: 0x11,
  replaceLane: 0x1c,
  isAbove: 0x3c,
  and: 0x4e,
  xor: 0x51,
  shiftLeft: 0xab,
  shiftRight: 0xad,
  add: 0xae,
} as const

type Plain =
  | 'select'
  | 'isBelow'
  | 'isAbove'
  | 'add'
  | 'subtract'
  | 'and'
  | 'or'
  | 'shiftLeft'
  | 'shiftRight'
  | 'rotateLeft'
type Vector = 'splat' | 'isAbove' | 'and' | 'xor' | 'shiftLeft' | 'shiftRight' | 'add'

/** Writes the code of one function of WebAssembly, instruction by instruction; each takes what those before it have left. */
export class WasmCode {
  readonly #bytes: number[] = []
  readonly #parameters: number
  #numbers = 0
  #vectors = 0

  /** Of a function that takes so many numbers. */
  constructor(parameters: number) {
    this.#parameters = parameters
  }

  parameter(index: number): Local {
    return index as Local
  }

  /** A number; all of them are asked for before the first vector. */
  number(): Local {
    return (this.#parameters + this.#numbers++) as Local
  }

  vector(): Local {
    return (this.#parameters + this.#numbers + this.#vectors++) as Local
  }

  constant(value: number): this {
    this.#bytes.push(codes.constant, ...signed(value))
    return this
  }

  get(local: Local): this {
    return this.#emit(codes.getLocal, local)
  }

  set(local: Local): this {
    return this.#emit(codes.setLocal, local)
  }

  tee(local: Local): this {
    return this.#emit(codes.teeLocal, local)
  }

  /** One that takes what is there and nothing else. */
  do(name: Plain): this {
    this.#bytes.push(codes[name])
    return this
  }

  load(offset: number): this {
    return this.#emit(codes.load, 2, offset)
  }

  store(offset: number): this {
    return this.#emit(codes.store, 2, offset)
  }

  storeByte(): this {
    return this.#emit(codes.storeByte, 0, 0)
  }

  memory(name: keyof typeof memoryCodes): this {
    this.#bytes.push(...memoryCodes[name])
    return this
  }

  /** Does the body again for as long as it leaves something else than 0. */
  loop(body: () => void): this {
    const noResult = 0x40
    this.#bytes.push(codes.loop, noResult)
    body()
    this.#bytes.push(codes.branchIf, 0, codes.end)
    return this
  }

  vectorLoad(offset: number): this {
    return this.#vector(vectorCodes.load, 0, offset)
  }

  vectorStore(offset: number): this {
    return this.#vector(vectorCodes.store, 0, offset)
  }

  vectors(name: Vector): this {
    return this.#vector(vectorCodes[name])
  }

  /** Puts a number into one of the four places of a vector. */
  replaceLane(lane: number): this {
    return this.#vector(vectorCodes.replaceLane, lane)
  }

  /** Sixteen of the bytes of two vectors. */
  shuffle(bytes: readonly number[]): this {
    return this.#vector(vectorCodes.shuffle, ...bytes)
  }

  /** A module with this function as `run`, and so many pages of memory. */
  module(pages: number): Uint8Array<ArrayBuffer> {
    const section = (id: number, content: readonly number[]): number[] => [id, ...unsigned(content.length), ...content]
    const exported = (name: string, kind: number): number[] => [name.length, ...Buffer.from(name), kind, 0]
    const locals = [2, ...unsigned(this.#numbers), types.number, ...unsigned(this.#vectors), types.vector]
    const body = [...locals, ...this.#bytes, codes.end]
    const signature = [0x60, this.#parameters, ...Array.from({ length: this.#parameters }, () => types.number), 0]
    return Uint8Array.from([
      ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, [1, ...signature]),
      ...section(3, [1, 0]),
      ...section(5, [1, 0, ...unsigned(pages)]),
      ...section(7, [2, ...exported('memory', 2), ...exported('run', 0)]),
      ...section(10, [1, ...unsigned(body.length), ...body]),
    ])
  }

  #vector(code: number, ...operands: readonly number[]): this {
    const prefix = 0xfd
    return this.#emit(prefix, code, ...operands)
  }

  #emit(code: number, ...operands: readonly number[]): this {
    this.#bytes.push(code, ...operands.flatMap(unsigned))
    return this
  }
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
