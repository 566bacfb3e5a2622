import type { DatabaseSync } from 'node:sqlite'
import type { StreamNumber } from '../../port/index.ts'
import { deleteEvidence } from '../rows/evidence.ts'
import { deleteIntroduction } from '../rows/introductions.ts'
import { rawRows } from '../rows/raw-rows.ts'
import { rowKey } from '../rows/row-key.ts'
import { deleteRange } from '../tag-index/index-ranges.ts'

/**
 * Deletes the events of a stream from an offset on, with everything derived from them, its waiting chunks, and the
 * evidence of a fork, which may be about events that are deleted: it is found or received again.
 */
export function removeFrom(database: DatabaseSync, number: StreamNumber, count: number): void {
  const [start, from, to] = [rowKey(number, 0), rowKey(number, count), rowKey(number + 1, 0)]
  for (const table of ['tail', 'segment'])
    database.prepare(`DELETE FROM ${table} WHERE key >= ? AND key < ?`).run(from, to)
  database.prepare('DELETE FROM checkpoint WHERE key > ? AND key < ?').run(from, to)
  if (count === 0) database.prepare('DELETE FROM checkpoint WHERE key = ?').run(start)
  database.prepare('DELETE FROM waiting WHERE key >= ? AND key < ?').run(start, to)
  deleteEvidence(database, number)
  // Rows of the index that are damaged are dropped when it is rebuilt.
  const ranges = rawRows<{ id: number }>(
    database,
    'SELECT id FROM range WHERE stream = ? AND first + count > ?',
    number,
    count,
  )
  for (const { id } of [...ranges]) deleteRange(database, id)
}

/** Deletes everything of a stream but its row. */
export function removeStream(database: DatabaseSync, number: StreamNumber): void {
  removeFrom(database, number, 0)
  database.prepare('DELETE FROM redaction WHERE key >= ? AND key < ?').run(rowKey(number, 0), rowKey(number + 1, 0))
  deleteIntroduction(database, number)
}
