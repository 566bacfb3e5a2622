import { digitsOf, putDigits } from '../../../base/digits.ts'
import type { ByteWriter } from '../../../protocol/index.ts'

/**
 * An event as the line of JSON that clients get. The line is stored with zeros in place of lamport timestamp and
 * offset, which differ in every event: they compress better as columns, and are filled in when the line is read.
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

/** Position of the digits of the lamport timestamp in a line. */
export const lamportAt = lamportKey.length

/** Bytes between the digits of the offset and those of the time. */
export const timeKeyBytes = timeKey.length

/** The start of a line with its numbers, up to the labels. */
export function linePrefix(streamId: string, lamport: number, offset: number, time: number): string {
  return `${lamportKey}${lamport}${middle(streamId)}${offset}${timeKey}${time}`
}

/** Writes the starts of lines in the stored form, with zeros for lamport timestamp and offset. */
export class LinePrefixes {
  readonly #middle: string
  #prefix: Buffer = Buffer.alloc(0)
  /** Where it was written last. */
  #at: number | undefined
  #lamportDigits = 1
  #offsetDigits = 1
  #timeDigits = 1
  #time = -1

  constructor(streamId: string) {
    this.#middle = middle(streamId)
  }

  /** Writes the start of a line. Fast path: it mostly equals the previous one, and is copied from there. */
  write(lines: ByteWriter, lamport: number, offset: number, time: number): void {
    const lamportDigits = digitsOf(lamport, this.#lamportDigits)
    const offsetDigits = digitsOf(offset, this.#offsetDigits)
    const isSame = lamportDigits === this.#lamportDigits && offsetDigits === this.#offsetDigits && time === this.#time
    if (isSame && this.#at !== undefined) {
      lines.repeat(this.#at, this.#prefix.length)
      return
    }
    if (!isSame) this.#make(lamportDigits, offsetDigits, time)
    this.#at = lines.length
    lines.bytes(this.#prefix)
  }

  /** To be called when the written lines are cleared. */
  reset(): void {
    this.#at = undefined
  }

  #make(lamportDigits: number, offsetDigits: number, time: number): void {
    const timeDigits = digitsOf(time, this.#timeDigits)
    const sameShape =
      lamportDigits === this.#lamportDigits && offsetDigits === this.#offsetDigits && timeDigits === this.#timeDigits
    this.#lamportDigits = lamportDigits
    this.#offsetDigits = offsetDigits
    this.#timeDigits = timeDigits
    if (!sameShape || this.#time < 0) this.#prefix = this.#zeros()
    putDigits(this.#prefix, this.#prefix.length - timeDigits, timeDigits, time)
    this.#time = time
  }

  #zeros(): Buffer {
    const zeros = (count: number): string => '0'.repeat(count)
    const lamport = `${lamportKey}${zeros(this.#lamportDigits)}`
    return Buffer.from(`${lamport}${this.#middle}${zeros(this.#offsetDigits)}${timeKey}${zeros(this.#timeDigits)}`)
  }
}

export { lineEnd }
