import type { ByteWriter } from '../../protocol/index.ts'

/**
 * An event as the line of JSON that clients get. Its text stands in the store with zeros in the place of the two numbers
 * that are others in every event: those stand apart, where they take less room, and are put in when it is read.
 *
 *     {"type":"event","lamport":000,"stream":"…-0","offset":000,"timestamp":1700000000000000,"tags":[…],"appId":"…","payload":…}
 */
const lamportKey = '{"type":"event","lamport":'
const timeKey = ',"timestamp":'
const lineEnd = Buffer.from('}\n')

export const endBytes = lineEnd.length

/** Bytes between the digits of the lamport timestamp and those of the offset. */
export function middleBytes(streamId: string): number {
  return middle(streamId).length
}

function middle(streamId: string): string {
  return `,"stream":"${streamId}","offset":`
}

/** How many digits a number has that is not negative; `known` is a good guess. */
export function digitsOf(value: number, known: number): number {
  let digits = known
  while (digits > 1 && value < (powers[digits - 1] as number)) digits--
  while (value >= (powers[digits] as number)) digits++
  return digits
}

const powers = Float64Array.from({ length: 18 }, (_, exponent) => 10 ** exponent)

/** Writes the digits of a number into the place that has room for just those. */
export function putDigits(bytes: Uint8Array, start: number, digits: number, value: number): void {
  let at = start + digits
  let rest = value
  if (rest > 0x7fffffff) {
    const high = Math.floor(rest / 1e8)
    let low = rest - high * 1e8
    for (let i = 0; i < 8; i++) {
      const tens = (low / 10) | 0
      bytes[--at] = 0x30 + low - tens * 10
      low = tens
    }
    rest = high
  }
  while (at > start) {
    const tens = (rest / 10) | 0
    bytes[--at] = 0x30 + rest - tens * 10
    rest = tens
  }
}

/** Where the digits of the lamport timestamp begin in a line. */
export const lamportAt = lamportKey.length

/** Bytes between the digits of the offset and those of the time. */
export const timeKeyBytes = timeKey.length

/** The beginning of a line with all of its numbers, up to its labels. */
export function lineStart(streamId: string, lamport: number, offset: number, time: number): string {
  return `${lamportKey}${lamport}${middle(streamId)}${offset}${timeKey}${time}`
}

/** Writes the beginnings of lines as they are stored, with zeros in the place of lamport timestamp and offset. */
export class LineStarts {
  readonly #middle: string
  #start: Buffer = Buffer.alloc(0)
  /** Where it was written last. */
  #at: number | undefined
  #lamportDigits = 1
  #offsetDigits = 1
  #timeDigits = 1
  #time = -1

  constructor(streamId: string) {
    this.#middle = middle(streamId)
  }

  /** Writes the beginning of a line. Mostly it is the one before it once more, which stands there already. */
  write(lines: ByteWriter, lamport: number, offset: number, time: number): void {
    const lamportDigits = digitsOf(lamport, this.#lamportDigits)
    const offsetDigits = digitsOf(offset, this.#offsetDigits)
    const isSame = lamportDigits === this.#lamportDigits && offsetDigits === this.#offsetDigits && time === this.#time
    if (isSame && this.#at !== undefined) {
      lines.again(this.#at, this.#start.length)
      return
    }
    if (!isSame) this.#make(lamportDigits, offsetDigits, time)
    this.#at = lines.length
    lines.bytes(this.#start)
  }

  /** What was written is gone. */
  forget(): void {
    this.#at = undefined
  }

  #make(lamportDigits: number, offsetDigits: number, time: number): void {
    const timeDigits = digitsOf(time, this.#timeDigits)
    const sameShape =
      lamportDigits === this.#lamportDigits && offsetDigits === this.#offsetDigits && timeDigits === this.#timeDigits
    this.#lamportDigits = lamportDigits
    this.#offsetDigits = offsetDigits
    this.#timeDigits = timeDigits
    if (!sameShape || this.#time < 0) this.#start = this.#zeros()
    putDigits(this.#start, this.#start.length - timeDigits, timeDigits, time)
    this.#time = time
  }

  #zeros(): Buffer {
    const zeros = (count: number): string => '0'.repeat(count)
    const lamport = `${lamportKey}${zeros(this.#lamportDigits)}`
    return Buffer.from(`${lamport}${this.#middle}${zeros(this.#offsetDigits)}${timeKey}${zeros(this.#timeDigits)}`)
  }
}

export { lineEnd }
