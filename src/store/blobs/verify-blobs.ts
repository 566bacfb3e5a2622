import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../base/errors.ts'
import { asDamage } from '../sqlite/index.ts'
import { blobRow, checkedBytes } from './blob-rows.ts'

/** The result of verifying all blobs. */
export interface BlobsReport {
  readonly blobs: number
  /** Damage that was found; empty if there is none. */
  readonly problems: readonly string[]
}

/** Verifies a snapshot of all blobs, read-only. */
export function verifyBlobs(file: string, progress: (blobs: number) => void = () => {}): BlobsReport {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    database.exec('BEGIN')
    const structure = database.prepare('PRAGMA integrity_check(20)').all()
    const problems = structure.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok')
    // Earlier versions have no checksums.
    if (Number(database.prepare('PRAGMA user_version').get()?.['user_version']) < 2) return { blobs: 0, problems }
    let blobs = 0
    const names = 'SELECT app, path FROM blob UNION SELECT app, path FROM blob_check'
    for (const { app, path } of asDamage(() => database.prepare(names).all())) {
      try {
        const row = asDamage(() => blobRow(database, String(app), String(path)))
        if (row !== undefined) checkedBytes(row)
      } catch (error) {
        problems.push(messageOf(error))
      }
      progress(++blobs)
    }
    return { blobs, problems }
  } finally {
    database.close()
  }
}
