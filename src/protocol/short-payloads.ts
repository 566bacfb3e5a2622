import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { saltLength } from './salts.ts'
import { entryBytes, freeMemory, lanes, longestText, type Sha256Lanes, sha256Lanes } from './sha256-lanes.ts'
import { hashLength, sha256 } from './stream.ts'

/** From so many payloads on, and up to so many bytes of each on average, hashing them together is faster than one by one. */
const fewest = 8
const averageText = 256

const most = format.eventsPerFrame
const list = freeMemory
const hashes = list + most * entryBytes
const salts = hashes + most * hashLength
const texts = salts + most * saltLength
const pageBytes = 64 * 1024
const pages = Math.ceil((texts + most * averageText) / pageBytes)

/** The payloads of one frame, as far as they are short, and their hashes. There is one of it, with memory of its own. */
export class ShortPayloads {
  readonly #sha256: Sha256Lanes
  readonly #bytes: Buffer
  readonly #list: Int32Array

  constructor(sha256: Sha256Lanes) {
    this.#sha256 = sha256
    this.#bytes = Buffer.from(sha256.memory)
    this.#list = new Int32Array(sha256.memory, list, (most * entryBytes) / 4)
  }

  /**
   * The hash of each payload with its salt, one after the other, good until the next ones. Start and end of each payload are
   * given; they follow each other.
   */
  hashes(saltsOfAll: Buffer, source: Buffer, payloads: Int32Array, count: number): Buffer {
    assert(count > 0 && count <= most && saltsOfAll.length === count * saltLength, 'each payload has a salt')
    const first = payloads[0] as number
    const length = (payloads[2 * count - 1] as number) - first
    assert(length <= most * averageText, 'there is room for all payloads')
    this.#bytes.set(saltsOfAll, salts)
    this.#bytes.set(new Uint8Array(source.buffer, source.byteOffset + first, length), texts)
    for (let i = 0; i < count; i++) {
      const start = payloads[2 * i] as number
      this.#list[3 * i] = salts + saltLength * i
      this.#list[3 * i + 1] = texts + start - first
      this.#list[3 * i + 2] = (payloads[2 * i + 1] as number) - start
    }
    // They are hashed four at a time: what is missing to that is empty.
    for (let i = count; i % lanes !== 0; i++) this.#list[3 * i + 2] = 0
    this.#sha256.run(list, Math.ceil(count / lanes), hashes)
    return this.#bytes.subarray(hashes, hashes + count * hashLength)
  }
}

let known: ShortPayloads | 'none' | undefined

/** Whether the payloads of a frame are short. Start and end of each are given. */
export function areShort(payloads: Int32Array, count: number): boolean {
  if (count < fewest) return false
  let left = count * averageText
  for (let i = 0; i < count; i++) {
    const length = (payloads[2 * i + 1] as number) - (payloads[2 * i] as number)
    left -= length
    if (length > longestText || left < 0) return false
  }
  return true
}

/** To hash short payloads with; nothing where that cannot be. It is made when it is asked for first, in each thread. */
export function shortPayloads(): ShortPayloads | undefined {
  known ??= trusted(() => sha256Lanes(pages)) ?? 'none'
  return known === 'none' ? undefined : known
}

/** Only what can be made, and does as the hash of Node does, is used. */
export function trusted(make: () => Sha256Lanes | undefined): ShortPayloads | undefined {
  try {
    const made = make()
    if (made === undefined) return undefined
    const payloads = new ShortPayloads(made)
    return isRight(payloads) ? payloads : undefined
  } catch {
    return undefined
  }
}

function isRight(payloads: ShortPayloads): boolean {
  const examples = [0, 1, 39, 40, 103, 104, 255, 500, longestText].map((length, i) => Buffer.alloc(length, 0x30 + i))
  const salt = Buffer.alloc(saltLength, 'salt')
  const spans = new Int32Array(2 * examples.length)
  let at = 0
  for (const [i, { length }] of examples.entries()) {
    spans[2 * i] = at
    at += length
    spans[2 * i + 1] = at
  }
  const hashes = payloads.hashes(
    Buffer.concat(examples.map(() => salt)),
    Buffer.concat(examples),
    spans,
    examples.length,
  )
  return hashes.toString('latin1') === examples.map((example) => sha256(Buffer.concat([salt, example]))).join('')
}
