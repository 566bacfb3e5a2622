import type { DatabaseSync } from 'node:sqlite'
import type { StreamNumber } from '../../port/index.ts'
import { checksum, DamagedData } from './checksum.ts'

/** The evidence of forks. A stream with a row is frozen, even if the row is damaged. */
export const evidenceTable =
  'CREATE TABLE evidence (stream INTEGER PRIMARY KEY, frozen INTEGER NOT NULL, record BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;'

interface EvidenceRow {
  readonly stream: StreamNumber
  /** The count up to which the stream is still served. */
  readonly frozen: number
  readonly record: Uint8Array
  readonly crc: number
}

/** Whether the store has the table: an earlier version gets it with the first write. */
export function hasEvidence(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'evidence'").get() !== undefined
}

export function putEvidence(database: DatabaseSync, row: Omit<EvidenceRow, 'crc'>): void {
  database
    .prepare('INSERT INTO evidence (stream, frozen, record, crc) VALUES (?, ?, ?, ?)')
    .run(row.stream, row.frozen, row.record, crcOf(row))
}

/** The evidence against a stream; undefined when it is not frozen. */
export function evidenceOf(database: DatabaseSync, stream: StreamNumber): EvidenceRow | undefined {
  if (!hasEvidence(database)) return undefined
  const row = database
    .prepare('SELECT stream, frozen, record, crc FROM evidence WHERE stream = ?')
    .get(stream) as unknown as EvidenceRow | undefined
  if (row !== undefined && crcOf(row) !== row.crc)
    throw new DamagedData(`the evidence of a fork of stream ${stream} is damaged`)
  return row
}

export function deleteEvidence(database: DatabaseSync, stream: StreamNumber): void {
  if (hasEvidence(database)) database.prepare('DELETE FROM evidence WHERE stream = ?').run(stream)
}

/** The numbers of all frozen streams. */
export function frozenStreams(database: DatabaseSync): StreamNumber[] {
  if (!hasEvidence(database)) return []
  return database
    .prepare('SELECT stream FROM evidence')
    .all()
    .map(({ stream }) => Number(stream))
}

function crcOf({ stream, frozen, record }: Omit<EvidenceRow, 'crc'>): number {
  return checksum(record, stream, frozen)
}
