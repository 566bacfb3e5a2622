import type { DatabaseSync } from 'node:sqlite'
import type { StreamNumber } from '../../port/index.ts'
import { preparedOnce } from '../prepared.ts'
import { rowKey } from './row-key.ts'

/** The redacted offsets of a stream, `from` included, `to` excluded. */
export function redactedBetween(database: DatabaseSync, stream: StreamNumber, from: number, to: number): number[] {
  const sql = 'SELECT key FROM redaction WHERE key >= ? AND key < ? ORDER BY key'
  const rows = preparedOnce(database, sql).all(rowKey(stream, from), rowKey(stream, to))
  return rows.map((row) => Number(row['key']) - rowKey(stream, 0))
}
