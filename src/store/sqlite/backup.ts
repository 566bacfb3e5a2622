import { chmodSync, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ShoalError } from '../../base/errors.ts'
import { openForReading } from './log-database.ts'

/**
 * Copies a snapshot of a log, also while it is being written. The copy is marked as a backup: other nodes may know
 * later events of its node, which has to ask them before it appends.
 */
export function backupLog(file: string, target: string, now: number): void {
  if (existsSync(target)) throw new ShoalError('ERR_INVALID_INPUT', `\`${target}\` exists already`)
  const database = openForReading(file)
  try {
    // Not the backup API: it restarts with every commit, and would never finish on a busy node.
    database.prepare('VACUUM INTO ?').run(target)
  } finally {
    database.close()
  }
  chmodSync(target, 0o600)
  const copy = new DatabaseSync(target)
  try {
    copy.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA')
    copy.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('backup', ?)").run(now)
  } finally {
    copy.close()
  }
}
