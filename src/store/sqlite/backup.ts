import { chmodSync, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ShoalError } from '../../base/errors.ts'
import { openForReading } from './log-database.ts'

/**
 * Copies a log as it stands at one moment, also while it is written to. The copy carries a mark: events that were
 * written after it are known to other nodes, so its node must ask them before it writes on.
 */
export function backupLog(file: string, target: string, now: number): void {
  if (existsSync(target)) throw new ShoalError('ERR_INVALID_INPUT', `\`${target}\` exists already`)
  const database = openForReading(file)
  try {
    // In one step: a copy in steps begins again with every commit, and never ends on a busy node.
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
