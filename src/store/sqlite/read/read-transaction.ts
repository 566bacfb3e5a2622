import type { DatabaseSync } from 'node:sqlite'

/** Pins one snapshot of the database: frames that are sealed between two statements would be in neither table. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN')
  try {
    return work()
  } finally {
    database.exec('COMMIT')
  }
}
