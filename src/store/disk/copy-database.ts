import { chmodSync, closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { diskSync } from './sync.ts'

/** Copies a snapshot of a database, which this process may have open, to a new file. */
export function copyDatabase(file: string, target: string): void {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    copyOpenDatabase(database, target)
  } finally {
    database.close()
  }
}

/** Copies a snapshot of an open database to a new file. */
export function copyOpenDatabase(database: DatabaseSync, target: string): void {
  // Not the backup API: it restarts with every commit, and would never finish on a busy node.
  database.prepare('VACUUM INTO ?').run(target)
  finishCopy(target)
}

/** Makes a copy readable for its owner only, and syncs it and its directory. */
export function finishCopy(target: string): void {
  chmodSync(target, 0o600)
  const descriptor = openSync(target, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  diskSync.folder(dirname(target))
}
