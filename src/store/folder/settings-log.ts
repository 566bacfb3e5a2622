import { createHash } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { SettingsLog, StoredRevision } from '../../settings/index.ts'

type Row = Record<string, SQLOutputValue>

/** A checksum over a revision of the settings, without its seal, which depends on the version of shoal. */
export function settingsChecksum(entry: Omit<StoredRevision, 'seal' | 'isDamaged'>): string {
  const { revision, time, origin, document } = entry
  return createHash('sha256')
    .update(JSON.stringify([revision, time, origin, document]))
    .digest('hex')
}

/** The revisions of the settings in the node database. */
export function openSettingsLog(
  database: DatabaseSync,
  folder: string,
  asNodeError: (error: unknown) => Error,
): SettingsLog {
  const columns = 'SELECT revision, time, origin, document, seal, checksum FROM settings'
  const all = exact(database.prepare(`${columns} ORDER BY revision DESC`))
  const newest = exact(database.prepare(`${columns} ORDER BY revision DESC LIMIT ?`))
  const one = exact(database.prepare(`${columns} WHERE revision = ?`))
  const reseal = database.prepare('UPDATE settings SET seal = ? WHERE revision = ?')
  const insert = database.prepare("INSERT INTO settings VALUES (NULL, ?, ?, ?, ?, '')")
  const transaction = <T>(work: () => T): T => {
    try {
      database.exec('BEGIN IMMEDIATE')
      const result = work()
      database.exec('COMMIT')
      return result
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw asNodeError(error)
    }
  }
  /** A damaged schema may lack a column. */
  const reading = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw asNodeError(error)
    }
  }
  return {
    folder,
    revision: (number) =>
      reading(() => {
        const row = one.get(number)
        return row && revisionOf(row)
      }),
    revisions: (most) =>
      reading(() => {
        const rows = most === undefined ? all.all() : newest.all(most)
        return [...lostRevision(database), ...rows.map(revisionOf)].slice(0, most)
      }),
    reseal: (revision, seal) => {
      reseal.run(seal, revision)
    },
    removeDamaged: () => transaction(() => removeDamaged(database, all.all())),
    append: (entry) =>
      transaction(() => {
        const { time, origin, document, seal } = entry
        const revision = Number(insert.run(time, origin, document, seal).lastInsertRowid)
        setChecksum(database, { ...entry, revision })
        return revision
      }),
  }
}

/** Removes damaged revisions. The sequence continues after the newest one left, plus one if the newest was lost. */
function removeDamaged(database: DatabaseSync, rows: readonly Row[]): void {
  const remove = database.prepare('DELETE FROM settings WHERE revision = ?')
  for (const row of rows) if (revisionOf(row).isDamaged === true) remove.run(row['revision'] as bigint)
  database.exec(`
    UPDATE sqlite_sequence SET seq = min(seq, (SELECT ifnull(max(revision), 0) FROM settings) + 1) WHERE name = 'settings'`)
}

/** Adds a checksum to every revision, in the open transaction. */
export function addSettingsChecksums(database: DatabaseSync): void {
  const rows = exact(database.prepare('SELECT revision, time, origin, document, seal, checksum FROM settings')).all()
  for (const row of rows) setChecksum(database, revisionOf(row))
}

/** The damaged revisions, as text. */
export function settingsProblems(log: SettingsLog): string[] {
  const damaged = [...log.revisions()].filter(({ isDamaged }) => isDamaged === true)
  return damaged.map(({ revision }) => `revision ${revision} of the settings is damaged`)
}

function setChecksum(database: DatabaseSync, entry: Omit<StoredRevision, 'seal'>): void {
  database.prepare('UPDATE settings SET checksum = ? WHERE revision = ?').run(settingsChecksum(entry), entry.revision)
}

/** A damaged integer may exceed the range of a JavaScript number. */
function exact(statement: StatementSync): StatementSync {
  statement.setReadBigInts(true)
  return statement
}

function revisionOf(row: Row): StoredRevision {
  const [revision, time] = [Number(row['revision']), Number(row['time'])]
  const { origin, document, seal, checksum } = row as Record<string, string>
  const entry = { revision, time, origin: origin as string, document: document as string }
  const isWhole = typeof row['time'] === 'bigint' && Number.isSafeInteger(time)
  return {
    ...entry,
    seal: String(seal),
    // Lazy: a start reads the newest one only.
    get isDamaged() {
      return !isWhole || checksum !== settingsChecksum(entry)
    },
  }
}

/** Detects a lost newest revision, because SQLite stores the sequence apart from the rows. */
function lostRevision(database: DatabaseSync): StoredRevision[] {
  const counted = exact(database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'settings'")).get()?.['seq']
  const newest = exact(database.prepare('SELECT max(revision) AS newest FROM settings')).get()?.['newest']
  const revision = Number(counted ?? 0)
  if (revision <= Number(newest ?? 0)) return []
  return [{ revision, time: 0, origin: '', document: '', seal: '', isDamaged: true }]
}
