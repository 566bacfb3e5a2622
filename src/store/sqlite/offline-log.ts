import type { PublicKey } from '../../identity/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import { metaOf, openForReading } from './log-database.ts'
import { LogReader } from './read/log-reader.ts'
import { SharedCounts } from './read/shared-counts.ts'
import { asDamage } from './rows/checksum.ts'
import { loadStreams } from './rows/stream-state.ts'

/** Opens a log that no node has open: without a writer the counts of its streams are loaded from the database. */
export function openOfflineLog(file: string, own: PublicKey | undefined, clock: Clock): LogReader {
  const counts = new SharedCounts()
  const database = openForReading(file)
  try {
    const { topic, kind } = metaOf(database)
    counts.publish(asDamage(() => loadStreams(database, { topic, kind, own })).states)
  } finally {
    database.close()
  }
  return new LogReader(file, counts, own ?? (new Uint8Array(32) as PublicKey), clock)
}
