import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { saltLength } from './salts.ts'
import { entryBytes, freeMemory, lanes, longestText, type Sha256Lanes, sha256Lanes } from './sha256-lanes.ts'
import { hashLength, sha256 } from './stream.ts'

/** Minimum number of payloads and maximum average length for which SIMD lanes are faster than hashing one by one. */
const minPayloads = 8
const averageText = 256

const maxPayloads = format.eventsPerFrame
const list = freeMemory
const hashes = list + maxPayloads * entryBytes
const salts = hashes + maxPayloads * hashLength
const texts = salts + maxPayloads * saltLength
const pageBytes = 64 * 1024
const pages = Math.ceil((texts + maxPayloads * averageText) / pageBytes)

/** Hashes the short payloads of a frame together. One instance per thread, with its own wasm memory. */
export class ShortPayloads {
  readonly #sha256: Sha256Lanes
  readonly #bytes: Buffer
  readonly #list: Int32Array

  constructor(sha256: Sha256Lanes) {
    this.#sha256 = sha256
    this.#bytes = Buffer.from(sha256.memory)
    this.#list = new Int32Array(sha256.memory, list, (maxPayloads * entryBytes) / 4)
  }

  /**
   * The salted hashes of all payloads, concatenated, valid until the next call. `payloads` has the start and end of
   * each payload in `source`, where they are contiguous.
   */
  hashes(saltsOfAll: Buffer, source: Buffer, payloads: Int32Array, count: number): Buffer {
    assert(count > 0 && count <= maxPayloads && saltsOfAll.length === count * saltLength, 'each payload has a salt')
    const first = payloads[0] as number
    const length = (payloads[2 * count - 1] as number) - first
    assert(length <= maxPayloads * averageText, 'there is room for all payloads')
    this.#bytes.set(saltsOfAll, salts)
    this.#bytes.set(new Uint8Array(source.buffer, source.byteOffset + first, length), texts)
    for (let i = 0; i < count; i++) {
      const start = payloads[2 * i] as number
      this.#list[3 * i] = salts + saltLength * i
      this.#list[3 * i + 1] = texts + start - first
      this.#list[3 * i + 2] = (payloads[2 * i + 1] as number) - start
    }
    // Pads the last group of four with empty messages.
    for (let i = count; i % lanes !== 0; i++) this.#list[3 * i + 2] = 0
    this.#sha256.run(list, Math.ceil(count / lanes), hashes)
    return this.#bytes.subarray(hashes, hashes + count * hashLength)
  }
}

let instance: ShortPayloads | 'none' | undefined

/** Whether the payloads of a frame are short enough for `ShortPayloads`. */
export function areShort(payloads: Int32Array, count: number): boolean {
  if (count < minPayloads) return false
  let left = count * averageText
  for (let i = 0; i < count; i++) {
    const length = (payloads[2 * i + 1] as number) - (payloads[2 * i] as number)
    left -= length
    if (length > longestText || left < 0) return false
  }
  return true
}

/** The instance of this thread, created lazily; undefined where SIMD is unavailable. */
export function shortPayloads(): ShortPayloads | undefined {
  instance ??= selfTested(() => sha256Lanes(pages)) ?? 'none'
  return instance === 'none' ? undefined : instance
}

/** Self-test: the wasm code is used only if it can be compiled and agrees with Node's SHA-256. */
export function selfTested(make: () => Sha256Lanes | undefined): ShortPayloads | undefined {
  try {
    const made = make()
    if (made === undefined) return undefined
    const payloads = new ShortPayloads(made)
    return agreesWithNode(payloads) ? payloads : undefined
  } catch {
    return undefined
  }
}

function agreesWithNode(payloads: ShortPayloads): boolean {
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
