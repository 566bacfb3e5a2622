import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import type { IndexRange } from '../tag-index/tag-index.ts'
import { TimeGroups } from './time-groups.ts'

/** The times of the events of an index range. Stores before version 3 have none; they are added in the background. */
export const timesTable =
  'CREATE TABLE times (id INTEGER PRIMARY KEY, crc INTEGER NOT NULL, body BLOB NOT NULL) STRICT;'

function crcOf({ id, stream, first, count }: IndexRange, body: Uint8Array): number {
  return checksum(body, id, stream, first, count)
}

/** Stores the times of a range, within the current transaction. */
export function insertTimes(database: DatabaseSync, range: IndexRange, body: Uint8Array): void {
  assert(TimeGroups.decode(body).count === range.count, 'each event of an index range has a time')
  database
    .prepare('INSERT OR REPLACE INTO times (id, crc, body) VALUES (?, ?, ?)')
    .run(range.id, crcOf(range, body), body)
}

export function deleteTimes(database: DatabaseSync, id: number): void {
  database.prepare('DELETE FROM times WHERE id = ?').run(id)
}

/** Drops the times of ranges that do not exist any more. */
export function dropOrphanedTimes(database: DatabaseSync): void {
  database.prepare('DELETE FROM times WHERE id NOT IN (SELECT id FROM range)').run()
}

/** Reads the times of ranges. */
export class RangeTimes {
  readonly #database: DatabaseSync
  #statement: StatementSync | undefined

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** The times of a range; undefined when they were not stored yet. Throws if they are damaged. */
  of(range: IndexRange): TimeGroups | undefined {
    if (this.#statement === undefined && !hasTimes(this.#database)) return undefined
    this.#statement ??= arrays(this.#database, 'SELECT crc, body FROM times WHERE id = ?')
    const row = this.#statement.get(range.id) as unknown as readonly [crc: number, body: Uint8Array] | undefined
    if (row === undefined) return undefined
    const [crc, body] = row
    if (crcOf(range, body) !== crc) throw new DamagedData(`the times of the index range ${range.id} are damaged`)
    const times = TimeGroups.decode(body)
    if (times.count !== range.count)
      throw new DamagedData(`the index range ${range.id} has other events than its times`)
    return times
  }
}

/** Whether a range has no times. */
export function lacksTimes(database: DatabaseSync): boolean {
  return arrays(database, 'SELECT 1 FROM range WHERE id NOT IN (SELECT id FROM times) LIMIT 1').get() !== undefined
}

/** The IDs of the ranges that have times. */
export function rangesWithTimes(database: DatabaseSync): Set<number> {
  // Damaged IDs may be too large for a number.
  const ids = arrays(database, 'SELECT id FROM times WHERE id BETWEEN 0 AND ?').all(format.rangesPerLog)
  return new Set((ids as unknown as readonly [number][]).map(([id]) => id))
}

/** A statement that returns arrays: in a damaged schema the names of columns may differ. */
function arrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

/** Whether the store has the table: an earlier version gets it with the first write. */
export function hasTimes(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'times'").get() !== undefined
}
