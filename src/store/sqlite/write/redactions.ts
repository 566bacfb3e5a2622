import type { DatabaseSync } from 'node:sqlite'
import type { StreamNumber } from '../../port/index.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import { rowKey } from '../rows/row-key.ts'

interface RedactionRow {
  readonly key: number
  readonly record: Uint8Array
  readonly crc: number
}

/** Stores a redaction record, also for an event that has not been received yet. */
export function keepRedaction(database: DatabaseSync, stream: StreamNumber, offset: number, record: Uint8Array): void {
  const key = rowKey(stream, offset)
  database
    .prepare('INSERT OR IGNORE INTO redaction (key, record, crc) VALUES (?, ?, ?)')
    .run(key, record, checksum(record, key))
}

/** The redacted offsets of a stream, `from` included, `to` excluded. */
export function redactedBetween(database: DatabaseSync, stream: StreamNumber, from: number, to: number): number[] {
  const rows = database
    .prepare('SELECT key FROM redaction WHERE key >= ? AND key < ? ORDER BY key')
    .all(rowKey(stream, from), rowKey(stream, to))
  return rows.map((row) => Number(row['key']) - rowKey(stream, 0))
}

/** Throws if a redaction is damaged: with a wrong key, the wrong payload would be redacted. */
export function checkRedactions(database: DatabaseSync): void {
  for (const row of database.prepare('SELECT key, record, crc FROM redaction').iterate()) {
    const { key, record, crc } = row as unknown as RedactionRow
    if (checksum(record, key) !== crc) throw new DamagedData('a redaction record is damaged')
  }
}
