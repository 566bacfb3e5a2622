import { rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/** One bit of one column of one row. */
export interface ColumnBit {
  readonly table: string
  /** The first column, which identifies the row. */
  readonly key: readonly [name: string, value: SQLInputValue]
  readonly column: string
  readonly value: Exclude<SQLInputValue, null>
  readonly bit: number
}

/** Every bit of every column of every row of every table of a database. */
export function columnBits(file: string): ColumnBit[] {
  const database = new DatabaseSync(file, { readOnly: true, readBigInts: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    return tables.flatMap(({ name }) =>
      database
        .prepare(`SELECT * FROM ${String(name)}`)
        .all()
        .flatMap((row) => bitsOfRow(String(name), row as Record<string, SQLInputValue>)),
    )
  } finally {
    database.close()
  }
}

function bitsOfRow(table: string, row: Record<string, SQLInputValue>): ColumnBit[] {
  const columns = Object.entries(row)
  const [key] = columns as [[string, SQLInputValue]]
  return columns.flatMap(([column, value]) =>
    value === null ? [] : Array.from({ length: bitsOf(value) }, (_, bit) => ({ table, key, column, value, bit })),
  )
}

/** Integers have 64 bits, even where SQLite stores fewer. */
function bitsOf(value: Exclude<SQLInputValue, null>): number {
  return typeof value === 'bigint' ? 64 : 8 * bytesOf(value).length
}

function bytesOf(value: Exclude<SQLInputValue, null>): Buffer {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Buffer.from(String(value))
}

/** Writes a database with one flipped bit in a column. Returns false if the database does not allow that value. */
export function writeFlipped(file: string, sound: Uint8Array, { table, key, column, value, bit }: ColumnBit): boolean {
  writeSound(file, sound)
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA synchronous = OFF')
    const as = typeof value === 'string' ? 'CAST(? AS TEXT)' : '?'
    database.prepare(`UPDATE ${table} SET ${column} = ${as} WHERE ${key[0]} = ?`).run(flipped(value, bit), key[1])
    return true
  } catch (error) {
    // A duplicate key.
    if (error instanceof Error && error.message.includes('constraint failed')) return false
    throw error
  } finally {
    database.close()
  }
}

export function writeSound(file: string, sound: Uint8Array): void {
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  writeFileSync(file, sound)
}

function flipped(value: Exclude<SQLInputValue, null>, bit: number): SQLInputValue {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value ^ (1n << BigInt(bit)))
  const bytes = Buffer.from(bytesOf(value))
  bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
  return bytes
}
