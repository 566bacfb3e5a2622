import type { DatabaseSync } from 'node:sqlite'
import { ByteReader, ByteWriter } from '../../../protocol/index.ts'
import type { RedactableStream } from '../../../replication/index.ts'
import type { RedactedOffset, StreamNumber } from '../../port/index.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import { redactedBetween } from '../rows/redacted-offsets.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'

/** A row per redacted offset. */
export interface RedactionRow {
  readonly key: number
  /**
   * The redaction record, in the row of its last offset: pruning deletes rows from the start. In the rows of its other
   * offsets, the distance to that row.
   */
  readonly record: Uint8Array
  readonly crc: number
}

/** Size up to which the column `record` is a distance: signed records are longer. */
const distanceBytes = 8

/** Stores a redaction record for the given offsets, which ascend and have no record yet. */
export function keepRedaction(
  database: DatabaseSync,
  stream: StreamNumber,
  offsets: readonly number[],
  record: Uint8Array,
): void {
  const insert = database.prepare('INSERT INTO redaction (key, record, crc) VALUES (?, ?, ?)')
  const last = offsets.at(-1) as number
  for (const offset of offsets) {
    const key = rowKey(stream, offset)
    const column = offset === last ? record : new ByteWriter(distanceBytes).uvarint(last - offset).written
    insert.run(key, column, checksum(column, key))
  }
}

/** The distance from a row to the row with its record; 0 when that is this row. */
export function distanceToRecord({ record }: Pick<RedactionRow, 'record'>): number {
  if (record.length > distanceBytes) return 0
  const reader = new ByteReader(record)
  const distance = reader.uvarint()
  reader.finish()
  if (distance === 0) throw new DamagedData('a redaction has no record')
  return distance
}

/** The redacted offsets in a range, with their records. */
export function* redactionsBetween(
  database: DatabaseSync,
  stream: StreamNumber,
  from: number,
  to: number,
): Generator<RedactedOffset> {
  const find = database.prepare('SELECT key, record, crc FROM redaction WHERE key = ?')
  const rows = database
    .prepare('SELECT key, record, crc FROM redaction WHERE key >= ? AND key < ? ORDER BY key')
    .iterate(rowKey(stream, from), rowKey(stream, to))
  for (const row of rows) {
    const { key, record } = checked(row as unknown as RedactionRow)
    const distance = distanceToRecord({ record })
    yield {
      offset: key - rowKey(stream, 0),
      id: key + distance,
      record: () =>
        distance === 0 ? record : recordAt(find.get(key + distance) as unknown as RedactionRow | undefined),
    }
  }
}

function recordAt(row: RedactionRow | undefined): Uint8Array {
  if (row === undefined || distanceToRecord(row) !== 0) throw new DamagedData('a redaction record is missing')
  return checked(row).record
}

/** A stream of the log, for the rules of redaction. */
export function redactable(database: DatabaseSync, state: StreamState): RedactableStream {
  const { number } = state
  return {
    position: state,
    redactedBetween: (from, to) => redactedBetween(database, number, from, to),
    expected: () => {
      const row = database
        .prepare(
          `SELECT count(*) AS offsets, total(length(record) > ${distanceBytes}) AS records FROM redaction
           WHERE key >= ? AND key < ?`,
        )
        .get(rowKey(number, state.count), rowKey(number + 1, 0))
      return { records: Number(row?.['records']), offsets: Number(row?.['offsets']) }
    },
  }
}

/** Throws if a redaction is damaged: with a wrong key, the wrong payload would be redacted. */
export function checkRedactions(database: DatabaseSync): void {
  for (const row of database.prepare('SELECT key, record, crc FROM redaction').iterate())
    checked(row as unknown as RedactionRow)
}

function checked(row: RedactionRow): RedactionRow {
  if (checksum(row.record, row.key) !== row.crc) throw new DamagedData('a redaction record is damaged')
  return row
}
