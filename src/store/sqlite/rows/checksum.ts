import { crc32 } from 'node:zlib'
import { systemCode } from '../../../base/errors.ts'
import { isCorrupt, sqliteCode, sqliteCodes } from '../../../base/sqlite-codes.ts'

/** Stored data failed its check. It is never served: the request that needs it fails with this error. */
export class DamagedData extends Error {
  override readonly name = 'DamagedData'
}

const numbers = new Float64Array(4)
const numberBytes = new Uint8Array(numbers.buffer)

/** The checksum of a row, over its bytes and its numbers. */
export function checksum(bytes: Uint8Array, a: number, b = 0, c = 0, d = 0): number {
  // Damage can change the type of a value: the checksum of NULL would equal that of 0, of a text that of its bytes.
  if (!(bytes instanceof Uint8Array)) throw new DamagedData('a row has something else where bytes should be')
  const { isSafeInteger } = Number
  if (!isSafeInteger(a) || !isSafeInteger(b) || !isSafeInteger(c) || !isSafeInteger(d))
    throw new DamagedData('a row has something else where a number should be')
  numbers[0] = a
  numbers[1] = b
  numbers[2] = c
  numbers[3] = d
  return crc32(bytes, crc32(numberBytes))
}

/** Runs work that reads stored rows, and turns the errors of SQLite that mean damage into `DamagedData`. */
export function asDamage<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    // Damage, too: a number above 2^53, which is never stored, and a missing column or table (SQLITE_ERROR).
    const isDamage =
      isCorrupt(error) || sqliteCode(error) === sqliteCodes.error || systemCode(error) === 'ERR_OUT_OF_RANGE'
    if (!isDamage) throw error
    throw new DamagedData(`the database is damaged: ${error.message}`, { cause: error })
  }
}
