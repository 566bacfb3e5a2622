import { type Local, WasmCode } from './wasm-code.ts'

/**
 * SHA-256 of four messages at once, one in each place of the vectors of WebAssembly. To hash a short message by the function
 * of Node takes longer for the call than for the hash, and a frame has many: this hashes all of them in one call.
 */
export const lanes = 4
export const hashBytes = 32

/** A message is a salt and a text. */
export const saltBytes = 16
/** Bytes of a text, at most. */
export const longestText = 1024

const blockBytes = 64
const vectorBytes = 16
/** Behind a message there is room for a bit that says where it ends, and for its length. */
const endBytes = 9
const laneBytes = Math.ceil((saltBytes + longestText + endBytes) / blockBytes) * blockBytes

/** Of each message in the list: where its salt is, where its text is, how long that is. */
export const entryBytes = 12

/** Where things are in the memory. */
const schedule = 0
const roundConstants = schedule + 16 * vectorBytes
const startState = roundConstants + 64 * vectorBytes
const messages = startState + 8 * vectorBytes
/** From here on it is the caller's. */
export const freeMemory = messages + lanes * laneBytes

export interface Sha256Lanes {
  readonly memory: ArrayBuffer
  /** Hashes the messages of the list that begins there, so many times four, and writes the hashes one after the other. */
  run(list: number, groups: number, hashes: number): void
}

/** What is used of it: the types of Node do not have it. */
declare const WebAssembly: {
  validate(bytes: Uint8Array<ArrayBuffer>): boolean
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (
    module: object,
  ) => { readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly run: Sha256Lanes['run'] } }
}

/** Nothing where there are no vectors. */
export function sha256Lanes(pages: number): Sha256Lanes | undefined {
  const bytes = program().module(pages)
  if (!WebAssembly.validate(bytes)) return undefined
  const { memory, run } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
  const numbers = new Uint32Array(memory.buffer)
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
  return { memory: memory.buffer, run }
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes
}

/** The first 32 bits behind the point. */
function fraction(value: number): number {
  return Math.floor((value % 1) * 2 ** 32)
}

/** The places of words of 32 bits, as the places of their bytes; or of these the other way round, as messages have them. */
const wordBytes = (words: readonly number[]): number[] => words.flatMap((w) => [0, 1, 2, 3].map((byte) => 4 * w + byte))
const swappedBytes = (words: readonly number[]): number[] =>
  words.flatMap((w) => [3, 2, 1, 0].map((byte) => 4 * w + byte))

function program(): WasmCode {
  const code = new WasmCode(3)
  const [list, groups, hashes] = [0, 1, 2].map((index) => code.parameter(index)) as [Local, Local, Local]
  const [length, end, blocks, most, block, at, round] = Array.from({ length: 7 }, () => code.number()) as [
    Local,
    Local,
    Local,
    Local,
    Local,
    Local,
    Local,
  ]
  const state = Array.from({ length: 8 }, () => code.vector())
  const work = Array.from({ length: 8 }, () => code.vector())
  const [sum, x, different, blockCounts] = Array.from({ length: 4 }, () => code.vector()) as [
    Local,
    Local,
    Local,
    Local,
  ]
  const one = (locals: readonly Local[], index: number): Local => locals[index] as Local

  /** Puts a message into its lane: salt, text, the bit behind it, zeros, its length in bits. */
  const placeMessage = (lane: number): void => {
    const start = messages + lane * laneBytes
    const entry = entryBytes * lane
    code
      .get(list)
      .load(entry + 8)
      .set(length)
    code.constant(start).get(list).load(entry).vectorLoad(0).vectorStore(0)
    code
      .constant(start + saltBytes)
      .get(list)
      .load(entry + 4)
      .get(length)
      .memory('copy')
    code
      .get(length)
      .constant(saltBytes + endBytes + blockBytes - 1)
      .do('add')
      .constant(6)
      .do('shiftRight')
      .set(blocks)
    code
      .get(length)
      .constant(start + saltBytes)
      .do('add')
      .tee(end)
      .constant(0)
    code.get(blocks).constant(6).do('shiftLeft').constant(saltBytes).do('subtract').get(length).do('subtract')
    code.memory('fill')
    code.get(end).constant(0x80).storeByte()
    code
      .get(blocks)
      .constant(6)
      .do('shiftLeft')
      .constant(start - 4)
      .do('add')
    code.get(length).constant(saltBytes).do('add').constant(3).do('shiftLeft').tee(end)
    // The bytes of the length the other way round.
    code.constant(8).do('rotateLeft').constant(0x00ff00ff).do('and')
    code.get(end).constant(24).do('rotateLeft').constant(0xff00ff00).do('and').do('or').store(0)
    code.get(blocks).get(most).get(blocks).get(most).do('isAbove').do('select').set(most)
    code.get(blockCounts).get(blocks).replaceLane(lane).set(blockCounts)
  }

  /** Takes four words of each lane, and makes four vectors of them that have one word of all lanes each. */
  const transpose = (
    from: readonly Local[],
    bytesOf: typeof wordBytes,
    take: (word: number, put: () => void) => void,
  ): void => {
    const [a, b, c, d] = from as [Local, Local, Local, Local]
    const [low1, high1, low2, high2] = work.slice(4) as [Local, Local, Local, Local]
    const mix = (first: Local, second: Local, words: readonly number[], to: Local): void => {
      code.get(first).get(second).shuffle(wordBytes(words)).set(to)
    }
    mix(a, b, [0, 4, 1, 5], low1)
    mix(a, b, [2, 6, 3, 7], high1)
    mix(c, d, [0, 4, 1, 5], low2)
    mix(c, d, [2, 6, 3, 7], high2)
    const put = (first: Local, second: Local, words: readonly number[]) => (): void => {
      code.get(first).get(second).shuffle(bytesOf(words))
    }
    take(0, put(low1, low2, [0, 1, 4, 5]))
    take(1, put(low1, low2, [2, 3, 6, 7]))
    take(2, put(high1, high2, [0, 1, 4, 5]))
    take(3, put(high1, high2, [2, 3, 6, 7]))
  }

  const loadSchedule = (): void => {
    for (let quarter = 0; quarter < 4; quarter++) {
      const rows = work.slice(0, lanes)
      for (const [lane, row] of rows.entries())
        code
          .get(at)
          .vectorLoad(messages + lane * laneBytes + vectorBytes * quarter)
          .set(row)
      transpose(rows, swappedBytes, (word, put) => {
        code.constant(0)
        put()
        code.vectorStore(schedule + vectorBytes * (4 * quarter + word))
      })
    }
  }

  const scheduled = (index: number): void => {
    code.constant(0).vectorLoad(schedule + vectorBytes * (index & 15))
  }

  /** Rotations of a vector to the right, and perhaps a shift, one xor the other. */
  const sigma = (local: Local, rotations: readonly number[], shift?: number): void => {
    for (const [i, bits] of rotations.entries()) {
      code.get(local).constant(bits).vectors('shiftRight')
      if (i > 0) code.vectors('xor')
      code
        .get(local)
        .constant(32 - bits)
        .vectors('shiftLeft')
        .vectors('xor')
    }
    if (shift !== undefined) code.get(local).constant(shift).vectors('shiftRight').vectors('xor')
  }

  /** The next word of the schedule takes the place of the one that is sixteen before it. */
  const extendSchedule = (index: number): void => {
    scheduled(index + 1)
    code.set(x).constant(0)
    sigma(x, [7, 18], 3)
    scheduled(index + 14)
    code.set(x)
    sigma(x, [17, 19], 10)
    code.vectors('add')
    scheduled(index + 9)
    code.vectors('add')
    scheduled(index)
    code
      .vectors('add')
      .tee(sum)
      .vectorStore(schedule + vectorBytes * (index & 15))
    code.get(sum)
  }

  /** One of 64; instead of moving the eight words on, their names move. */
  const doRound = (index: number, grows: boolean): void => {
    const word = (k: number): Local => one(work, (k - (index & 7) + 8) % 8)
    const [a, b, d, e, f, g, h] = [0, 1, 3, 4, 5, 6, 7].map(word) as [Local, Local, Local, Local, Local, Local, Local]
    if (grows) extendSchedule(index)
    else scheduled(index)
    code
      .get(round)
      .vectorLoad(roundConstants + vectorBytes * (index & 15))
      .vectors('add')
    code.get(h).vectors('add')
    sigma(e, [6, 11, 25])
    code.vectors('add')
    code.get(f).get(g).vectors('xor').get(e).vectors('and').get(g).vectors('xor').vectors('add').set(sum)
    code.get(d).get(sum).vectors('add').set(d)
    sigma(a, [2, 13, 22])
    code.get(sum).vectors('add')
    // The majority of three, with what was different in the round before.
    code.get(a).get(b).vectors('xor').tee(x).get(different).vectors('and').get(b).vectors('xor').vectors('add').set(h)
    code.get(x).set(different)
  }

  const doBlock = (): void => {
    loadSchedule()
    for (let i = 0; i < 8; i++) code.get(one(state, i)).set(one(work, i))
    code.get(one(work, 1)).get(one(work, 2)).vectors('xor').set(different)
    code.constant(0).set(round)
    for (let i = 0; i < 16; i++) doRound(i, false)
    code.constant(16 * vectorBytes).set(round)
    code.loop(() => {
      for (let i = 0; i < 16; i++) doRound(i, true)
      code
        .get(round)
        .constant(16 * vectorBytes)
        .do('add')
        .tee(round)
        .constant(64 * vectorBytes)
        .do('isBelow')
    })
    // Shorter messages have ended before: theirs is left as it is.
    code.get(blockCounts).get(block).vectors('splat').vectors('isAbove').set(x)
    for (let i = 0; i < 8; i++)
      code.get(one(state, i)).get(one(work, i)).get(x).vectors('and').vectors('add').set(one(state, i))
  }

  const storeHashes = (): void => {
    for (const half of [0, 1])
      transpose(state.slice(4 * half, 4 * half + 4), swappedBytes, (lane, put) => {
        code.get(hashes)
        put()
        code.vectorStore(hashBytes * lane + vectorBytes * half)
      })
  }

  code.loop(() => {
    code.constant(0).set(most)
    for (let lane = 0; lane < lanes; lane++) placeMessage(lane)
    for (let i = 0; i < 8; i++)
      code
        .constant(0)
        .vectorLoad(startState + vectorBytes * i)
        .set(one(state, i))
    code.constant(0).set(block).constant(0).set(at)
    code.loop(() => {
      doBlock()
      code.get(at).constant(blockBytes).do('add').set(at)
      code.get(block).constant(1).do('add').tee(block).get(most).do('isBelow')
    })
    storeHashes()
    code
      .get(list)
      .constant(entryBytes * lanes)
      .do('add')
      .set(list)
    code
      .get(hashes)
      .constant(hashBytes * lanes)
      .do('add')
      .set(hashes)
    code.get(groups).constant(1).do('subtract').tee(groups)
  })
  return code
}
