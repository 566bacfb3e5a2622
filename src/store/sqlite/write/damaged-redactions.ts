import type { DatabaseSync } from 'node:sqlite'
import { verifyStoredRedaction } from '../../../protocol/index.ts'
import { isOwnStream, type TopicContext, unlessMalformed } from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { checksum, DamagedData } from '../rows/checksum.ts'
import { isSound, type RawRow, rawRows } from '../rows/raw-rows.ts'
import { streamOf } from '../rows/row-key.ts'
import { distanceToRecord, type RedactionRow } from './redactions.ts'
import type { Slot } from './slots.ts'

/** The intact rows: the distance to the row with the record, by key; 0 in the row with the record. */
type Distances = ReadonlyMap<number, number>

/**
 * Damaged redactions of other nodes, which are received again, together with those that have lost their record. Throws
 * for one of an own stream.
 */
export function damagedRedactions(
  database: DatabaseSync,
  slots: readonly Slot[],
  context: TopicContext,
): { table: string; rawKey: bigint }[] {
  const damaged: RawRow<RedactionRow>[] = []
  const distances = new Map<number, number>()
  for (const row of rawRows<RedactionRow>(database, 'SELECT key, record, crc FROM redaction ORDER BY key')) {
    if (isSound(row, crcOf)) distances.set(row.key, distanceToRecord(row))
    else damaged.push(row)
  }
  const isOwn = (stream: StreamNumber): boolean => slots[stream] === undefined || slots[stream].is === 'own'
  for (const row of damaged) {
    const signed = signedRecord(row)
    if (signed === undefined ? isOwn(streamOfRow(row, distances)) : isOwnStream(signed.stream, context))
      throw new DamagedData('a redaction record is damaged')
  }
  const orphans = [...distances].filter(([key, distance]) => distance > 0 && distances.get(key + distance) !== 0)
  for (const [key] of orphans) if (isOwn(streamOf(key))) throw new DamagedData('a redaction record is missing')
  const keys = [...damaged.map(({ rawKey }) => rawKey), ...orphans.map(([key]) => BigInt(key))]
  return keys.map((rawKey) => ({ table: 'redaction', rawKey }))
}

function crcOf({ key, record }: RedactionRow): number {
  return checksum(record, key)
}

function signedRecord({ record }: RedactionRow): ReturnType<typeof verifyStoredRedaction> | undefined {
  return record instanceof Uint8Array ? unlessMalformed(() => verifyStoredRedaction(record)) : undefined
}

/** The stream of a damaged row. One with a damaged key matches its checksum at its distance from a record. */
function streamOfRow(row: RawRow<RedactionRow>, distances: Distances): StreamNumber {
  const distance = readableDistance(row)
  for (const [at, toRecord] of distances) {
    const key = at - distance
    if (toRecord === 0 && distance > 0 && isSound({ ...row, key }, crcOf)) return streamOf(key)
  }
  return streamOf(row.key)
}

/** The distance of a damaged row; 0 when it has none. */
function readableDistance(row: RawRow<RedactionRow>): number {
  try {
    return row.record instanceof Uint8Array ? (unlessMalformed(() => distanceToRecord(row)) ?? 0) : 0
  } catch (error) {
    if (error instanceof DamagedData) return 0
    throw error
  }
}
