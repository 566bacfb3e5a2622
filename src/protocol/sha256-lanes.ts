import { assert } from '../base/assert.ts'
import {
  type Code,
  type Local,
  Locals,
  memory,
  number,
  repeat,
  vector,
  wasmFunction,
  wasmModule,
} from '../runtime/wasm-code.ts'
import { saltLength } from './salts.ts'
import { hashLength } from './stream.ts'

/**
 * SHA-256 of four messages in parallel, one per SIMD lane of a wasm v128. For a short message a call of Node's hash
 * costs more than the hash itself, and a frame has many: this hashes all of them in one call.
 */
export const lanes = 4
/** Maximum length of a text; a message is a salt and a text. */
export const longestText = 1024

const blockBytes = 64
const vectorBytes = 16
/** Minimum padding of a message: the byte 0x80 and the length in 64 bits. */
const endBytes = 9

assert(saltLength === vectorBytes, 'a salt is moved as one vector')

const laneBytes = Math.ceil((saltLength + longestText + endBytes) / blockBytes) * blockBytes

/** Size of a list entry: the address of the salt, the address of the text, and the length of the text. */
export const entryBytes = 12

/** Layout of the linear memory. */
const schedule = 0
const roundConstants = schedule + 16 * vectorBytes
const startState = roundConstants + 64 * vectorBytes
const messages = startState + 8 * vectorBytes
/** Start of the memory that the caller may use. */
export const freeMemory = messages + lanes * laneBytes

export interface Sha256Lanes {
  readonly memory: ArrayBuffer
  /** Hashes `groups` × 4 messages of the list at address `list`, and writes their digests from address `hashes` on. */
  run(list: number, groups: number, hashes: number): void
}

/** Undefined without SIMD support; throws without WebAssembly, or when out of memory. */
export function sha256Lanes(pages: number): Sha256Lanes | undefined {
  const made = wasmFunction(program(pages))
  if (made === undefined) return undefined
  const numbers = new Uint32Array(made.memory)
  const spread = (at: number, values: readonly number[]): void => {
    for (const [i, value] of values.entries()) numbers.fill(value, at / 4 + 4 * i, at / 4 + 4 * (i + 1))
  }
  spread(
    roundConstants,
    firstPrimes(64).map((prime) => fraction(Math.cbrt(prime))),
  )
  spread(
    startState,
    firstPrimes(8).map((prime) => fraction(Math.sqrt(prime))),
  )
  return made
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes
}

/** The first 32 bits of the fractional part. */
function fraction(value: number): number {
  return Math.floor((value % 1) * 2 ** 32)
}

const { constant, load } = number
const { add, and, shiftLeft, shiftRight, xor } = vector

function program(pages: number): Uint8Array<ArrayBuffer> {
  const locals = new Locals(3)
  const [list, groups, hashes] = [locals.parameter(0), locals.parameter(1), locals.parameter(2)]
  const [block, blocks] = [locals.number(), locals.number()]
  /** Number of blocks per message, one per lane. */
  const counts = locals.vector()
  const state = locals.vectors(8)
  const round = new Rounds(locals)
  const hashBlock = (): Code => [
    round.begin(number.do('shiftLeft', block.get, constant(6)), state),
    round.all(),
    // Masked: the state of a message that ended in an earlier block does not change.
    state.map((word, i) =>
      word.set(add(word.get, and(round.result(i), vector.isAbove(counts.get, vector.splat(block.get))))),
    ),
  ]
  const body = [
    blocks.set(constant(0)),
    placeMessages(locals, list, counts, blocks),
    state.map((word, i) => word.set(vector.load(constant(0), startState + vectorBytes * i))),
    block.set(constant(0)),
    repeat([hashBlock(), number.increase(block, 1)], number.do('isBelow', block.get, blocks.get)),
    [0, 1].map((half) =>
      transposed(round.spare, state.slice(4 * half, 4 * half + 4), (lane, words) =>
        vector.store(hashes.get, hashLength * lane + vectorBytes * half, words),
      ),
    ),
    number.increase(list, entryBytes * lanes),
    number.increase(hashes, hashLength * lanes),
    groups.set(number.do('subtract', groups.get, constant(1))),
  ]
  return wasmModule(locals, repeat(body, groups.get), pages)
}

/** Copies four messages into their lanes, with SHA-256 padding, and counts their blocks. */
function placeMessages(locals: Locals, list: Local, counts: Local, maxBlocks: Local): Code {
  const [length, blocks, bits] = [locals.number(), locals.number(), locals.number()]
  const plus = (value: Code, more: number): Code => number.do('add', value, constant(more))
  return Array.from({ length: lanes }, (_, lane) => {
    const start = messages + lane * laneBytes
    const entry = entryBytes * lane
    const end = plus(length.get, start + saltLength)
    const lastBlockEnd = number.do('shiftLeft', blocks.get, constant(6))
    const left = number.do('subtract', plus(lastBlockEnd, -saltLength), length.get)
    return [
      length.set(load(list.get, entry + 8)),
      blocks.set(number.do('shiftRight', plus(length.get, saltLength + endBytes + blockBytes - 1), constant(6))),
      vector.store(constant(start), 0, vector.load(load(list.get, entry), 0)),
      memory.copy(constant(start + saltLength), load(list.get, entry + 4), length.get),
      memory.fill(end, constant(0), left),
      number.storeByte(end, constant(0x80)),
      bits.set(number.do('shiftLeft', plus(length.get, saltLength), constant(3))),
      number.store(plus(lastBlockEnd, start - 4), byteSwapped(bits.get)),
      maxBlocks.set(number.select(number.do('isAbove', blocks.get, maxBlocks.get), blocks.get, maxBlocks.get)),
      counts.set(vector.withLane(counts.get, lane, blocks.get)),
    ]
  })
}

/** Byte swap of an i32. */
function byteSwapped(value: Code): Code {
  const turned = (bits: number, kept: number): Code =>
    number.do('and', number.do('rotateLeft', value, constant(bits)), constant(kept))
  return number.do('or', turned(8, 0x00ff00ff), turned(24, 0xff00ff00))
}

/** Transposes a 4x4 matrix of words and swaps the bytes of each word: SHA-256 is big-endian, wasm little-endian. */
function transposed(spare: readonly Local[], rows: readonly Local[], use: (index: number, words: Code) => Code): Code {
  const [a, b, c, d] = rows.map(({ get }) => get) as [Code, Code, Code, Code]
  const [low1, high1, low2, high2] = spare as [Local, Local, Local, Local]
  const bytes = (words: readonly number[], places: readonly number[]): number[] =>
    words.flatMap((word) => places.map((place) => 4 * word + place))
  const mixed = (one: Code, other: Code, words: readonly number[]): Code =>
    vector.shuffle(one, other, bytes(words, [0, 1, 2, 3]))
  const turned = (one: Local, other: Local, words: readonly number[]): Code =>
    vector.shuffle(one.get, other.get, bytes(words, [3, 2, 1, 0]))
  return [
    low1.set(mixed(a, b, [0, 4, 1, 5])),
    high1.set(mixed(a, b, [2, 6, 3, 7])),
    low2.set(mixed(c, d, [0, 4, 1, 5])),
    high2.set(mixed(c, d, [2, 6, 3, 7])),
    use(0, turned(low1, low2, [0, 1, 4, 5])),
    use(1, turned(low1, low2, [2, 3, 6, 7])),
    use(2, turned(high1, high2, [0, 1, 4, 5])),
    use(3, turned(high1, high2, [2, 3, 6, 7])),
  ]
}

/** The 64 rounds of the compression function, in the notation of FIPS 180-4. */
class Rounds {
  readonly #words: Local[]
  readonly #constants: Local
  readonly #sum: Local
  readonly #last: Local
  /** `a ^ b`, and that of the previous round, which is `b ^ c` now: saves an operation in `Maj`. */
  readonly #aXorB: Local
  readonly #bXorC: Local

  constructor(locals: Locals) {
    this.#constants = locals.number()
    this.#words = locals.vectors(8)
    ;[this.#sum, this.#last, this.#aXorB, this.#bXorC] = locals.vectors(4) as [Local, Local, Local, Local]
  }

  /** Four scratch vectors, free before the first round and after the last one. */
  get spare(): Local[] {
    return this.#words.slice(4)
  }

  result(index: number): Code {
    return (this.#words[index] as Local).get
  }

  /** Loads the block of each lane at offset `at` into the message schedule, and initialises the working variables. */
  begin(at: Code, state: readonly Local[]): Code {
    const rows = this.#words.slice(0, lanes)
    const quarters = [0, 1, 2, 3].map((quarter) => [
      rows.map((row, lane) => row.set(vector.load(at, messages + lane * laneBytes + vectorBytes * quarter))),
      transposed(this.spare, rows, (word, words) => this.#schedule(4 * quarter + word, words)),
    ])
    const [, b, c] = this.#words as [Local, Local, Local]
    return [
      quarters,
      this.#words.map((word, i) => word.set((state[i] as Local).get)),
      this.#bXorC.set(xor(b.get, c.get)),
    ]
  }

  all(): Code {
    const sixteen = (from: (index: number) => Code): Code =>
      Array.from({ length: 16 }, (_, i) => [from(i), this.#round(i)])
    return [
      this.#constants.set(constant(0)),
      sixteen((i) => this.#last.set(this.#scheduled(i))),
      this.#constants.set(constant(16 * vectorBytes)),
      repeat(
        [sixteen((i) => this.#extend(i)), number.increase(this.#constants, 16 * vectorBytes)],
        number.do('isBelow', this.#constants.get, constant(64 * vectorBytes)),
      ),
    ]
  }

  /** The working variables are renamed each round instead of being moved. */
  #round(index: number): Code {
    const word = (place: number): Local => this.#words[(place - (index & 7) + 8) % 8] as Local
    const [a, b, d, e] = [word(0), word(1), word(3), word(4)]
    const [f, g, h] = [word(5), word(6), word(7)]
    const known = vector.load(this.#constants.get, roundConstants + vectorBytes * index)
    const choice = xor(and(xor(f.get, g.get), e.get), g.get)
    const majority = xor(and(this.#aXorB.get, this.#bXorC.get), b.get)
    return [
      this.#sum.set(add(this.#last.get, known, h.get, rotated(e.get, [6, 11, 25]), choice)),
      d.set(add(d.get, this.#sum.get)),
      this.#aXorB.set(xor(a.get, b.get)),
      h.set(add(rotated(a.get, [2, 13, 22]), this.#sum.get, majority)),
      this.#bXorC.set(this.#aXorB.get),
    ]
  }

  /** Extends the message schedule by one word, in a ring buffer of sixteen. */
  #extend(index: number): Code {
    const [second, fifteenth] = [this.#scheduled(index + 1), this.#scheduled(index + 14)]
    const sigma0 = xor(rotated(second, [7, 18]), shiftRight(second, 3))
    const sigma1 = xor(rotated(fifteenth, [17, 19]), shiftRight(fifteenth, 10))
    return [
      this.#last.set(add(sigma0, sigma1, this.#scheduled(index + 9), this.#scheduled(index))),
      this.#schedule(index, this.#last.get),
    ]
  }

  #scheduled(index: number): Code {
    return vector.load(constant(0), schedule + vectorBytes * (index & 15))
  }

  #schedule(index: number, words: Code): Code {
    return vector.store(constant(0), schedule + vectorBytes * (index & 15), words)
  }
}

/** The XOR of several right rotations. */
function rotated(value: Code, all: readonly number[]): Code {
  const [first, ...rest] = all.flatMap((bits) => [shiftRight(value, bits), shiftLeft(value, 32 - bits)])
  return xor(first as Code, ...rest)
}
