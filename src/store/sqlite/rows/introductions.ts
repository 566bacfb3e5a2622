import type { DatabaseSync } from 'node:sqlite'
import type { StreamNumber } from '../../port/index.ts'
import { rawRows } from './raw-rows.ts'

/**
 * The peers that have introduced streams of other nodes, for the budget of streams. They have no checksums: a damaged
 * row only charges the stream to another peer.
 */
export const introductionTable = 'CREATE TABLE introduction (number INTEGER PRIMARY KEY, peer TEXT NOT NULL) STRICT;'

/** Whether the store has the table: one of an earlier version gets it with the first write. */
export function hasIntroductions(database: DatabaseSync): boolean {
  return (
    database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'introduction'").get() !== undefined
  )
}

/** The peers by the number of the stream that they have introduced. */
export function introductionsOf(database: DatabaseSync): Map<StreamNumber, string> {
  if (!hasIntroductions(database)) return new Map()
  const rows = rawRows<{ number: number; peer: unknown }>(database, 'SELECT number, peer FROM introduction')
  return new Map([...rows].map(({ number, peer }) => [number, String(peer)]))
}

export function putIntroduction(database: DatabaseSync, stream: StreamNumber, peer: string): void {
  database.prepare('INSERT OR REPLACE INTO introduction (number, peer) VALUES (?, ?)').run(stream, peer)
}

export function deleteIntroduction(database: DatabaseSync, stream: StreamNumber): void {
  if (hasIntroductions(database)) database.prepare('DELETE FROM introduction WHERE number = ?').run(stream)
}
