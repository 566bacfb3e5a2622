import type { DatabaseSync } from 'node:sqlite'
import { verifyStoredRedaction } from '../../../protocol/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { offsetOf, rowKey } from '../rows/row-key.ts'
import { distanceToRecord, type RedactionRow } from '../write/redactions.ts'

/** Verifies the redaction records of a stream. Returns the redacted offsets. */
export function verifyRedactions(database: DatabaseSync, number: StreamNumber): Set<number> {
  const rows = database
    .prepare('SELECT key, record FROM redaction WHERE key >= ? AND key < ?')
    .all(rowKey(number, 0), rowKey(number + 1, 0)) as unknown as Pick<RedactionRow, 'key' | 'record'>[]
  const records = new Map(
    rows
      .filter((row) => distanceToRecord(row) === 0)
      .map(({ key, record }) => [offsetOf(key), verifyStoredRedaction(record).ranges]),
  )
  for (const row of rows) {
    const offset = offsetOf(row.key)
    const ranges = records.get(offset + distanceToRecord(row)) ?? []
    if (!ranges.some(({ first, count }) => offset >= first && offset < first + count))
      throw new Error('a redaction record is in the wrong place')
  }
  return new Set(rows.map(({ key }) => offsetOf(key)))
}
