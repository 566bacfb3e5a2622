import { crc32 } from 'node:zlib'

/** Stored bytes that are not what was written: never served, and told to whoever asked. */
export class DamagedData extends Error {
  override readonly name = 'DamagedData'
}

const numbers = new Float64Array(4)
const numberBytes = new Uint8Array(numbers.buffer)

/** A checksum over a row: its numbers as well as its bytes, so that no part of it changes unnoticed. */
export function checksum(bytes: Uint8Array, a: number, b = 0, c = 0, d = 0): number {
  numbers[0] = a
  numbers[1] = b
  numbers[2] = c
  numbers[3] = d
  return crc32(bytes, crc32(numberBytes))
}
