import { chmodSync, closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { diskSync } from './sync.ts'

/** Copies a database that no other process has open to a new file. */
export function copyDatabase(file: string, target: string): void {
  const database = new DatabaseSync(file)
  try {
    database.prepare('VACUUM INTO ?').run(target)
  } finally {
    database.close()
  }
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
