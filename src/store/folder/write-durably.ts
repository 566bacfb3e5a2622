import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DiskSync } from '../disk/sync.ts'

/** Writes a file for its owner only, atomic and durable: after a power failure the file is complete, or it does not exist. */
export function writeDurably(file: string, text: string, sync: DiskSync): void {
  const temporary = `${file}.new`
  const descriptor = openSync(temporary, 'w', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
  sync.folder(join(file, '..'))
}
