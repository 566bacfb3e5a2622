import type { DatabaseSync } from 'node:sqlite'
import { BackgroundReporter } from '../disk/background.ts'
import { NotedCount } from '../disk/count-file.ts'
import { openingError } from '../disk/disk-refusal.ts'
import { type DiskSync, diskSync } from '../disk/sync.ts'
import { checkWal, type StoreDamage } from '../disk/wal-check.ts'
import { checkBlocks, openBlocks } from './block-database.ts'
import { Registers } from './registers.ts'

interface SoundBlocks {
  readonly database: DatabaseSync
  /** What was found that does not keep it from being used. */
  readonly damage: readonly StoreDamage[]
  readonly noted: NotedCount
}

/** Opens the database with the blocks of a topic for a node, if what is known of blocks and files is as it was written. */
export function openSoundBlocks(
  file: string,
  sync: DiskSync = diskSync,
  background = new BackgroundReporter(),
): SoundBlocks {
  const damagedWal = checkWal(file, { keep: true })
  const noted = new NotedCount(file, 'commits of files', { background, work: 'count_files' })
  const database = openBlocks(file, { sync })
  try {
    checkBlocks(database)
    new Registers(database).check()
    const commits = Number(database.prepare('SELECT count FROM change').get()?.['count'] ?? 0)
    const missing = noted.compare(commits)
    if (damagedWal !== undefined) database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    if (missing !== undefined) noted.note(commits)
    return { database, noted, damage: [damagedWal, missing].filter((found) => found !== undefined) }
  } catch (error) {
    database.close()
    throw openingError(error, file, damagedWal?.text)
  }
}
