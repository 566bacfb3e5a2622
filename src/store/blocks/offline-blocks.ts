import { constants, copyFileSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { copyDatabase, finishCopy } from '../disk/copy-database.ts'
import { slotsFile } from '../folder/topic-files.ts'
import type { BlockUsage } from '../port/index.ts'
import { openBlocks } from './block-database.ts'
import { BlockStore } from './block-store.ts'
import { Registers } from './registers.ts'
import { Slots } from './slots.ts'

/** Statistics of files and blocks. */
export interface BlockStats extends BlockUsage {
  readonly fileBytes: number
  readonly names: number
  readonly uploads: number
}

/** The block store of a stopped node, or of a running one that does not reuse freed slots meanwhile. */
export interface OpenBlocks {
  readonly database: DatabaseSync
  readonly blocks: BlockStore
  readonly registers: Registers
}

/** Opens a snapshot of the blocks read-only; the write-ahead log is not changed either. */
export function withBlocks<T>(file: string, work: (opened: OpenBlocks) => T): T {
  const database = openBlocks(file, { readOnly: true })
  try {
    database.exec('BEGIN')
    const slots = new Slots(slotsFile(file), database)
    try {
      // The clock is not used: read times are not stored.
      const blocks = new BlockStore(database, slots, () => 0)
      return work({ database, blocks, registers: new Registers(database) })
    } finally {
      slots.close()
    }
  } finally {
    database.close()
  }
}

export function blockStats(file: string): BlockStats {
  return withBlocks(file, ({ blocks, registers }) => ({
    ...blocks.usage(),
    fileBytes: statSync(file).size + statSync(slotsFile(file)).size,
    names: registers.all('name').length,
    uploads: registers.all('upload').length,
  }))
}

/** Copies the blocks of a stopped node, or of a running one that does not reuse freed slots meanwhile. */
export function backupBlocks(file: string, target: string): void {
  copyDatabase(file, target)
  copyFileSync(slotsFile(file), slotsFile(target), constants.COPYFILE_FICLONE)
  finishCopy(slotsFile(target))
}
