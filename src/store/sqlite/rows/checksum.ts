import { crc32 } from 'node:zlib'
import { isCorrupt, systemCode } from '../../../base/errors.ts'
import { sqliteCode } from '../../disk/disk-refusal.ts'

/** Stored bytes that are not what was written: never served, and told to whoever asked. */
export class DamagedData extends Error {
  override readonly name = 'DamagedData'
}

/** SQLITE_ERROR: a statement that makes no sense for this database. */
const sqliteError = 1

const numbers = new Float64Array(4)
const numberBytes = new Uint8Array(numbers.buffer)

/** A checksum over a row: its numbers as well as its bytes, so that no part of it changes unnoticed. */
export function checksum(bytes: Uint8Array, a: number, b = 0, c = 0, d = 0): number {
  // Damage can make another type of a value: nothing would count like 0, a text like its bytes.
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

/** Does work that reads stored rows. Where SQLite cannot read them, they are damaged, whatever it calls that. */
export function reading<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    // A number beyond 2^53: none of ours is. A column or a table that a statement does not find: the schema is damaged.
    const isDamage = isCorrupt(error) || sqliteCode(error) === sqliteError || systemCode(error) === 'ERR_OUT_OF_RANGE'
    if (!isDamage) throw error
    throw new DamagedData(`the database is damaged: ${error.message}`, { cause: error })
  }
}
