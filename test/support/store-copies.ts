import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'

/** Sizes in the format of write-ahead logs: https://sqlite.org/fileformat2.html#walformat */
const headerBytes = 32
const frameHeaderBytes = 24

/** A moment in the life of an SQLite log: what was on disk then. */
export interface SyncPoint {
  /** The end of the last commit in the write-ahead log; its file may be longer. */
  readonly walEnd: number
  /** Identifies the content of the write-ahead log, which is overwritten after a checkpoint. */
  readonly salts: string
  /** When the database file was last written: by a checkpoint. */
  readonly written: bigint
}

/** What is on disk now. All commits up to here are synced. */
export function syncPoint(file: string): SyncPoint {
  const wal = existsSync(`${file}-wal`) ? readFileSync(`${file}-wal`) : Buffer.alloc(0)
  const { mtimeNs: written } = statSync(file, { bigint: true })
  if (wal.length < headerBytes) return { walEnd: 0, salts: '', written }
  const salts = wal.toString('latin1', 16, 24)
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8)
  let walEnd = headerBytes
  for (let at = headerBytes; at + frameBytes <= wal.length; at += frameBytes) {
    // What follows is left over from before the last checkpoint.
    if (wal.toString('latin1', at + 8, at + 16) !== salts) break
    if (wal.readUInt32BE(at + 4) > 0) walEnd = at + frameBytes
  }
  return { walEnd, salts, written }
}

/**
 * Copies a log of one thread at this moment, as a crash leaves it.
 * @param upTo cuts the copy back to what was synced then, as a power failure does with a disk that does not sync. Without
 * the count file, which is never synced
 */
export function copyLog(file: string, target: string, upTo?: SyncPoint): void {
  copyFileSync(file, target)
  for (const part of upTo === undefined ? ['-wal', '-count'] : ['-wal'])
    if (existsSync(file + part)) copyFileSync(file + part, target + part)
  if (upTo === undefined) return
  const { salts, written } = syncPoint(file)
  assert.ok(written === upTo.written, 'there was a checkpoint since the sync point: copy the log then instead')
  assert.ok(upTo.walEnd === 0 || salts === upTo.salts, 'the write-ahead log was overwritten since the sync point')
  if (existsSync(`${target}-wal`)) truncateSync(`${target}-wal`, upTo.walEnd)
}

/** Replaces a closed log by a copy, in place: with its device and inode. */
export function restoreLog(copy: string, file: string): void {
  for (const part of ['-wal', '-shm', '-count']) rmSync(file + part, { force: true })
  copyFileSync(copy, file)
  for (const part of ['-wal', '-count']) if (existsSync(copy + part)) copyFileSync(copy + part, file + part)
}
