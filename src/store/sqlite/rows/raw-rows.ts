import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { asDamage, DamagedData } from './checksum.ts'

/** A row that may be damaged: a number may be out of range, so that its key is kept as a bigint, too. */
export type RawRow<T> = T & { readonly rawKey: bigint }

/**
 * Reads rows of which any may be damaged, up to the first that SQLite cannot read. Their first column is the key.
 * Numbers out of range fail the checksum of their row.
 */
export function* rawRows<T extends object>(
  database: DatabaseSync,
  sql: string,
  ...args: readonly SQLInputValue[]
): Generator<RawRow<T>> {
  let rows: Iterator<object>
  try {
    const statement = asDamage(() => database.prepare(sql))
    statement.setReadBigInts(true)
    rows = statement.iterate(...args)
  } catch (error) {
    if (error instanceof DamagedData) return
    throw error
  }
  try {
    for (;;) {
      const next = nextOf(rows)
      if (next === undefined) return
      yield rowOf<T>(next)
    }
  } finally {
    // A loop that was left early would keep its read transaction.
    rows.return?.()
  }
}

function nextOf(rows: Iterator<object>): object | undefined {
  try {
    const { done, value } = asDamage(() => rows.next())
    return done === true ? undefined : (value as object)
  } catch (error) {
    if (error instanceof DamagedData) return undefined
    throw error
  }
}

function rowOf<T extends object>(row: object): RawRow<T> {
  const columns = Object.entries(row)
  const [, key] = columns[0] as [string, unknown]
  const numbers = columns.map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value])
  return { ...Object.fromEntries(numbers), rawKey: typeof key === 'bigint' ? key : -1n } as RawRow<T>
}

/** Whether a row matches its checksum. */
export function isSound<T extends { readonly crc: number }>(row: T, crcOf: (row: T) => number): boolean {
  try {
    return crcOf(row) === row.crc
  } catch (error) {
    if (error instanceof DamagedData) return false
    throw error
  }
}
