import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { CountFile } from '../../src/store/disk/count-file.ts'
import { scanWal } from '../../src/store/disk/wal-check.ts'
import { LogReader, type LogWriter } from '../../src/store/sqlite/index.ts'
import { testRandom } from '../support/seed.ts'
import { memoryFolder } from './damage/folder.ts'
import { openWriter, ownKey, request } from './damage/small-store.ts'

const headerBytes = 32
const frameBytes = 24 + 4096

/** A database with these transactions in its write-ahead log, as after a kill. */
function killed(t: TestContext, transactions: readonly string[], file = join(memoryFolder(t), 'killed.db')): string {
  const running = `${file}.running`
  const database = new DatabaseSync(running)
  database.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10; CREATE TABLE t (body)')
  for (const transaction of transactions) database.exec(transaction)
  for (const suffix of ['', '-wal']) copyFileSync(`${running}${suffix}`, `${file}${suffix}`)
  database.close()
  return file
}

const small = 'INSERT INTO t VALUES (randomblob(10))'
const large = 'INSERT INTO t VALUES (randomblob(20000))'
const rolledBack = `BEGIN; ${`${large};`.repeat(20)} ROLLBACK`

function rows(file: string): number {
  const database = new DatabaseSync(file)
  try {
    return Number(database.prepare('SELECT count(*) AS rows FROM t').get()?.['rows'])
  } finally {
    database.close()
  }
}

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
  return copy
}

/** The numbers of the commit frames, from 1. */
function commitsIn(wal: Buffer): number[] {
  const frames = Math.floor((wal.length - headerBytes) / frameBytes)
  return Array.from({ length: frames }, (_, i) => i + 1).filter(
    (frame) => wal.readUInt32BE(headerBytes + (frame - 1) * frameBytes + 4) > 0,
  )
}

test('an intact, truncated or missing write-ahead log is not damage', (t) => {
  const file = killed(t, [small, large, small, large])
  assert.equal(scanWal(file), undefined)
  const wal = readFileSync(`${file}-wal`)
  for (let length = 0; length < wal.length; length += 509) {
    writeFileSync(`${file}-wal`, wal.subarray(0, length))
    assert.equal(scanWal(file), undefined, `cut at ${length}`)
    writeFileSync(`${file}-wal`, Buffer.concat([wal.subarray(0, length), Buffer.alloc(3 * frameBytes)]))
    assert.equal(scanWal(file), undefined, `zeros from ${length} on`)
  }
  rmSync(`${file}-wal`)
  assert.equal(scanWal(file), undefined)
})

test('frames of a rolled-back transaction are not damage, also after a later commit', (t) => {
  const file = killed(t, [small, rolledBack, small])
  assert.ok(statSync(`${file}-wal`).size > 50 * frameBytes, 'the transaction was written before it was rolled back')
  assert.equal(scanWal(file), undefined)
  assert.equal(rows(file), 2)
})

test('frames left over from before the log was restarted are not damage', (t) => {
  const file = killed(t, [large, large, large, 'PRAGMA wal_checkpoint(RESTART)', small])
  assert.ok(statSync(`${file}-wal`).size > 10 * frameBytes)
  assert.equal(scanWal(file), undefined)
  assert.equal(rows(file), 4)
})

test('a corrupted frame before a later commit is certain damage', (t) => {
  const file = killed(t, [small, large, small, large, small, small])
  const wal = readFileSync(`${file}-wal`)
  // The last two frames are one commit each.
  const end = headerBytes + (commitsIn(wal).at(-3) as number) * frameBytes
  const random = testRandom(t)
  for (let bit = 8 * headerBytes; bit < 8 * end; bit += 1 + random.below(1999)) {
    writeFileSync(`${file}-wal`, flipped(wal, bit))
    const frame = 1 + Math.floor(((bit >> 3) - headerBytes) / frameBytes)
    const found = scanWal(file)
    assert.deepEqual([found?.frame, found?.isCertain], [frame, true], `bit ${bit}`)
  }
})

test('every flipped bit in the header of a write-ahead log with commits is damage', (t) => {
  const file = killed(t, [small, large, small])
  const wal = readFileSync(`${file}-wal`)
  for (let bit = 0; bit < 8 * headerBytes; bit++) {
    writeFileSync(`${file}-wal`, flipped(wal, bit))
    assert.deepEqual([scanWal(file)?.frame, scanWal(file)?.isCertain], [0, true], `bit ${bit}`)
  }
})

test('a corrupted frame of the last commit is only possible damage: it may be a torn write', (t) => {
  const file = killed(t, [small, small, large])
  const wal = readFileSync(`${file}-wal`)
  const [, before = 0, last = 0] = commitsIn(wal).slice(-3)
  assert.ok(last > before + 2)
  for (let frame = before + 1; frame < last; frame++) {
    const at = headerBytes + (frame - 1) * frameBytes
    writeFileSync(`${file}-wal`, Buffer.from(wal).fill(0, at, at + frameBytes))
    // The checksum of the commit frame continues that of the frame before it.
    const expected = frame === last - 1 ? undefined : { frame, commits: 1, isCertain: false }
    assert.deepEqual(scanWal(file), expected, `frame ${frame} of ${last}`)
  }
})

test('checksums of big-endian words are supported', (t) => {
  const file = killed(t, [small, large, small, small])
  const wal = bigEndian(readFileSync(`${file}-wal`))
  writeFileSync(`${file}-wal`, wal)
  assert.equal(scanWal(file), undefined)
  writeFileSync(`${file}-wal`, flipped(wal, 8 * (headerBytes + frameBytes + 100)))
  assert.deepEqual([scanWal(file)?.frame, scanWal(file)?.isCertain], [2, true])
  writeFileSync(`${file}-wal`, wal)
  assert.equal(rows(file), 4, 'SQLite accepts it, too')
})

/** The same write-ahead log as written by a big-endian machine. */
function bigEndian(wal: Buffer): Buffer {
  const copy = Buffer.from(wal)
  copy.writeUInt32BE(0x377f0683, 0)
  let sums: [number, number] = [0, 0]
  const add = (from: number, to: number): void => {
    for (let at = from; at < to; at += 8) {
      sums[0] = (sums[0] + copy.readUInt32BE(at) + sums[1]) >>> 0
      sums[1] = (sums[1] + copy.readUInt32BE(at + 4) + sums[0]) >>> 0
    }
  }
  const write = (at: number): void => {
    copy.writeUInt32BE(sums[0], at)
    copy.writeUInt32BE(sums[1], at + 4)
  }
  add(0, 24)
  write(24)
  sums = [copy.readUInt32BE(24), copy.readUInt32BE(28)]
  for (let at = headerBytes; at + frameBytes <= copy.length; at += frameBytes) {
    add(at, at + 8)
    add(at + 24, at + frameBytes)
    write(at + 16)
  }
  return copy
}

/** An event log of a process that was killed after some commits, with or without a count file. */
function killedLog(t: TestContext, { recorded }: { recorded: boolean }): string {
  const folder = memoryFolder(t)
  const [running, file] = [join(folder, 'running.db'), join(folder, 'log.db')]
  const writer = openWriter(running)
  for (let i = 0; i < 6; i++) writer.append([request(1, i)])
  if (recorded) writer.recordEventCount()
  for (const suffix of ['', '-wal', ...(recorded ? ['-count'] : [])])
    copyFileSync(`${running}${suffix}`, `${file}${suffix}`)
  writer.close()
  return file
}

function eventsIn(writer: LogWriter, file: string): number {
  const reader = new LogReader(file, writer.counts, ownKey.publicKey, systemClock)
  try {
    return reader.status().reduce((sum, { count }) => sum + count, 0)
  } finally {
    reader.close()
  }
}

test('events lost with a damaged write-ahead log are reported once, and a copy of that log is kept', (t) => {
  const file = killedLog(t, { recorded: false })
  const wal = readFileSync(`${file}-wal`)
  const [, , third = 0] = commitsIn(wal)
  const damaged = flipped(wal, 8 * (headerBytes + third * frameBytes + 2000))
  writeFileSync(`${file}-wal`, damaged)
  const writer = openWriter(file)
  assert.ok(eventsIn(writer, file) < 6)
  const [found, ...others] = writer.damage
  assert.deepEqual(others, [])
  assert.equal(found?.isCertain, true)
  assert.match(
    found?.text ?? '',
    /log\.db-wal` is damaged at frame \d+: at least \d commits? .*lost\..*log\.db-wal\.damaged/,
  )
  assert.deepEqual(readFileSync(`${file}-wal.damaged`), damaged)
  assert.equal(statSync(`${file}-wal.damaged`).mode & 0o077, 0)
  writer.append([request(1, 100)])
  writer.redact(0, [0])
  assert.ok(!existsSync(`${file}-wal.damaged`), 'a redaction deletes the copy')
  writer.append([request(1, 101)])
  copyFileSync(file, `${file}2`)
  copyFileSync(`${file}-wal`, `${file}2-wal`)
  writer.close()
  const next = openWriter(`${file}2`)
  assert.deepEqual(next.damage, [], 'damage is not reported twice')
  next.close()
})

test('the loss of the last commit with a damaged write-ahead log is detected by the count file', (t) => {
  const file = killedLog(t, { recorded: true })
  const wal = readFileSync(`${file}-wal`)
  const at = headerBytes + ((commitsIn(wal).at(-1) as number) - 1) * frameBytes
  for (const place of [at + 4, at + 9, at + 17, at + 24 + 4000]) {
    writeFileSync(`${file}-wal`, flipped(wal, 8 * place))
    copyFileSync(file, `${file}2`)
    for (const suffix of ['-wal', '-count']) copyFileSync(`${file}${suffix}`, `${file}2${suffix}`)
    const writer = openWriter(`${file}2`)
    const { text, isCertain } = writer.damage.at(-1) ?? {}
    assert.equal(isCertain, true, `byte ${place - at} of the last frame`)
    assert.match(text ?? '', /1 of 6 events that had been stored are missing: the database has 5/)
    writer.close()
  }
})

test('a missing write-ahead log is detected by the count file', (t) => {
  const file = killedLog(t, { recorded: true })
  rmSync(`${file}-wal`)
  // The tables themselves were in it.
  const writer = openWriter(file)
  assert.match(writer.damage[0]?.text ?? '', /6 of 6 events that had been stored are missing/)
  writer.close()
})

test('a clean stop writes the count file, and an intact log has no damage', (t) => {
  const file = killedLog(t, { recorded: true })
  const writer = openWriter(file)
  assert.deepEqual(writer.damage, [])
  writer.append([request(3, 10)])
  writer.close()
  assert.ok(!existsSync(`${file}-wal`))
  assert.equal(new CountFile(file, 'events').compare(9), undefined)
  assert.match(new CountFile(file, 'events').compare(8)?.text ?? '', /1 of 9 events/)
  // A log of an earlier version has no count file.
  rmSync(`${file}-count`)
  const again = openWriter(file)
  assert.deepEqual(again.damage, [])
  again.close()
  assert.equal(statSync(`${file}-count`).mode & 0o077, 0)
})

test('every flipped bit of a count file is reported, but not as certain damage', (t) => {
  const file = join(memoryFolder(t), 'log.db')
  const countFile = new CountFile(file, 'events')
  countFile.record(1234)
  countFile.close()
  const sound = readFileSync(`${file}-count`)
  for (let bit = 0; bit < 8 * sound.length; bit++) {
    writeFileSync(`${file}-count`, flipped(sound, bit))
    assert.equal(new CountFile(file, 'events').compare(1234)?.isCertain, false, `bit ${bit}`)
  }
})
