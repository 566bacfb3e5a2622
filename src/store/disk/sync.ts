import { closeSync, existsSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** The system calls that make bytes and directory entries durable. Tests pass failing or recording ones. */
export interface DiskSync {
  /** Blocks until the bytes of a file are on the disk. */
  data(descriptor: number): void
  /** The same in the background. */
  dataLater(descriptor: number, done: (error: Error | null) => void): void
  /** Makes the entries of a directory durable: a file is found after a power cut only if its directory was synced. */
  folder(path: string): void
}

export const diskSync: DiskSync = {
  data: fdatasyncSync,
  dataLater: fdatasync,
  folder(path) {
    // Windows has no such call; its file systems log changes of directories themselves.
    if (process.platform === 'win32') return
    const descriptor = openSync(path, 'r')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  },
}

/** Creates an empty file for its owner only, unless it exists, and syncs its directory. */
export function createFile(path: string, sync: DiskSync = diskSync): void {
  if (existsSync(path)) return
  closeSync(openSync(path, 'a', 0o600))
  sync.folder(dirname(path))
}
