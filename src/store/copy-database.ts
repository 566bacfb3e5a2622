import { chmodSync, closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Copies a database that nobody else has open to where nothing is yet. */
export function copyDatabase(file: string, target: string): void {
  const database = new DatabaseSync(file)
  try {
    database.prepare('VACUUM INTO ?').run(target)
  } finally {
    database.close()
  }
  finishCopy(target)
}

/** A copy is for its owner alone, and on the disk when this returns. */
export function finishCopy(target: string): void {
  chmodSync(target, 0o600)
  const descriptor = openSync(target, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
