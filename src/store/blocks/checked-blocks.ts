import type { DatabaseSync } from 'node:sqlite'
import { BackgroundReporter } from '../disk/background.ts'
import { CountFile } from '../disk/count-file.ts'
import { openingError } from '../disk/disk-io-error.ts'
import { type DiskSync, diskSync } from '../disk/sync.ts'
import { checkWal, type StoreDamage } from '../disk/wal-check.ts'
import { checkBlocks, openBlocks } from './block-database.ts'
import { Registers } from './registers.ts'

interface CheckedBlocks {
  readonly database: DatabaseSync
  /** Damage that does not prevent its use. */
  readonly damage: readonly StoreDamage[]
  readonly countFile: CountFile
}

/** Opens the block database of a topic for a node. Throws when the metadata of blocks or files is damaged. */
export function openCheckedBlocks(
  file: string,
  sync: DiskSync = diskSync,
  background = new BackgroundReporter(),
): CheckedBlocks {
  const damagedWal = checkWal(file, { keep: true })
  const countFile = new CountFile(file, 'commits of files', { background, work: 'count_files' })
  const database = openBlocks(file, { sync })
  try {
    checkBlocks(database)
    new Registers(database).check()
    const commits = Number(database.prepare('SELECT count FROM change').get()?.['count'] ?? 0)
    const missing = countFile.compare(commits)
    if (damagedWal !== undefined) database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    if (missing !== undefined) countFile.record(commits)
    return { database, countFile, damage: [damagedWal, missing].filter((found) => found !== undefined) }
  } catch (error) {
    database.close()
    throw openingError(error, file, damagedWal?.text)
  }
}
