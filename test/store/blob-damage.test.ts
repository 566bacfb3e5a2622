import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { verifyBlobs } from '../../src/store/blobs/verify-blobs.ts'
import { BlobStore, blobFile } from '../../src/store/index.ts'
import { DamagedData } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/node.ts'
import { noise } from '../support/noise.ts'
import { testSeed } from '../support/seed.ts'
import { memoryFolder } from './damage/folder.ts'
import { type ColumnBit, columnBits, writeFlipped, writeSound } from './damage/rows.ts'

const blob = { type: 'application/octet-stream', bytes: noise(1024) }

/** A database with one blob of 1 KiB. */
function oneBlob(t: TestContext): { file: string; sound: Buffer; right: string } {
  const file = join(memoryFolder(t), 'blobs.db')
  const blobs = new BlobStore(file, () => 42)
  blobs.put('a', 'x/y', blob)
  blobs.close()
  // The count file is covered by other tests.
  rmSync(`${file}-count`)
  const sound = readFileSync(file)
  const right = resultsOf(file)
  return { file, sound, right }
}

function hashOf(bytes: Buffer | undefined): string | undefined {
  return bytes && createHash('sha256').update(bytes).digest('hex')
}

/** The results of a listing and a download. */
function resultsOf(file: string): string {
  const blobs = new BlobStore(file, () => 42)
  try {
    const listed = blobs.list('a', 'x')
    const found = blobs.get('a', 'x/y')
    return JSON.stringify([[...(listed ?? [])], found?.type, hashOf(found?.bytes)])
  } finally {
    blobs.close()
  }
}

/** Whether the damage was detected; if not, asserts that the results are correct. */
function isDetected(file: string, right: string, where: string): boolean {
  let results: string
  try {
    results = resultsOf(file)
  } catch (error) {
    assert.ok(error instanceof DamagedData || error instanceof ShoalError, `${where}: ${String(error)}`)
    return true
  }
  assert.equal(results, right, where)
  return false
}

test('every flipped bit in the content of a blob is detected by a download and by verify', (t) => {
  const { file, sound } = oneBlob(t)
  const start = sound.indexOf(blob.bytes.subarray(100, 200)) - 100
  assert.ok(start > 0, 'the content is stored uncompressed')
  for (let bit = 8 * start; bit < 8 * (start + blob.bytes.length); bit++) {
    const bytes = Buffer.from(sound)
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    writeSound(file, bytes)
    const blobs = new BlobStore(file, () => 42)
    assert.throws(() => blobs.get('a', 'x/y'), DamagedData, `bit ${bit}`)
    blobs.close()
    if (bit % 97 === 0) assert.deepEqual(problemsOf(file), ["the blob 'x/y' of the app 'a' is damaged"])
  }
})

function problemsOf(file: string): readonly string[] {
  return verifyBlobs(file).problems
}

test('every flipped bit in the metadata or checksum of a blob is detected or harmless', (t) => {
  const { file, sound, right } = oneBlob(t)
  const outcomes = new Map<string, Set<boolean>>()
  const known = ({ table, column }: ColumnBit): boolean =>
    table.startsWith('blob') && !(table === 'blob' && column === 'body')
  for (const bit of columnBits(file).filter(known)) {
    if (!writeFlipped(file, sound, bit)) continue
    const place = `${bit.table}.${bit.column}`
    const detected = isDetected(file, right, `bit ${bit.bit} of ${place}`)
    outcomes.set(place, (outcomes.get(place) ?? new Set()).add(detected))
  }
  for (const column of ['type', 'size', 'ctime']) assert.deepEqual([...(outcomes.get(`blob.${column}`) ?? [])], [true])
  assert.deepEqual([...(outcomes.get('blob_check.crc') ?? [])], [true])
})

test('a flipped bit anywhere in the database file of blobs is detected or harmless', (t) => {
  const { file, sound, right } = oneBlob(t)
  const step = 149
  for (let bit = testSeed(t) % step; bit < 8 * sound.length; bit += step) {
    const bytes = Buffer.from(sound)
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    writeSound(file, bytes)
    isDetected(file, right, `bit ${bit & 7} of byte ${bit >> 3}`)
  }
})

test('a column is read even if a damaged schema has another name for it', (t) => {
  const { file, sound, right } = oneBlob(t)
  writeSound(file, sound)
  const database = new DatabaseSync(file)
  database.enableDefensive(false)
  database.exec("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'atime', 'Atime')")
  database.close()
  assert.equal(resultsOf(file), right)
})

test('a blob that is missing in one of its tables is reported as missing', (t) => {
  const { file } = oneBlob(t)
  const database = new DatabaseSync(file)
  database.exec('DELETE FROM blob')
  database.close()
  const blobs = new BlobStore(file, () => 42)
  t.after(() => blobs.close())
  const missing = { name: 'DamagedData', message: "the blob 'x/y' of the app 'a' is missing" }
  assert.throws(() => blobs.get('a', 'x/y'), missing)
  assert.throws(() => blobs.list('a', ''), missing)
  assert.deepEqual(problemsOf(file), [missing.message])
  assert.equal(blobs.get('a', 'other'), undefined)
  blobs.put('a', 'x/y', blob)
  assert.deepEqual(blobs.get('a', 'x/y')?.bytes, blob.bytes)
})

test('a blob of an earlier format version is readable, and gets a checksum', (t) => {
  const { file, sound: version2, right } = oneBlob(t)
  writeSound(file, version2)
  const database = new DatabaseSync(file)
  database.exec('DROP TABLE blob_check; DROP TABLE change; PRAGMA user_version = 1')
  database.close()
  const version1 = readFileSync(file)
  assert.equal(resultsOf(file), right)
  writeSound(file, version1)
  const listed = new BlobStore(file, () => 42)
  assert.deepEqual(
    [...(listed.list('a', 'x')?.keys() ?? [])],
    ['y'],
    'a listing does not depend on an earlier download',
  )
  listed.close()
  assert.equal(resultsOf(file), right)
  const sound = readFileSync(file)
  const at = sound.indexOf(blob.bytes.subarray(100, 200))
  sound.writeUInt8(sound.readUInt8(at) ^ 1, at)
  writeSound(file, sound)
  assert.throws(() => resultsOf(file), DamagedData)
})

test('a change of blobs that is lost with a damaged write-ahead log is reported', (t) => {
  const folder = memoryFolder(t)
  const running = join(folder, 'running.db')
  const blobs = new BlobStore(running, () => 42)
  for (const name of ['a', 'b', 'c']) blobs.put('a', name, blob)
  const file = join(folder, 'killed.db')
  for (const suffix of ['', '-wal', '-count']) copyFileSync(`${running}${suffix}`, `${file}${suffix}`)
  blobs.close()
  const wal = readFileSync(`${file}-wal`)
  writeFileSync(`${file}-wal`, wal.subarray(0, wal.length - 1))
  const opened = new BlobStore(file, () => 42)
  t.after(() => opened.close())
  assert.match(opened.damage[0]?.text ?? '', /1 of 3 changes of blobs that had been stored are missing/)
})

test('a damaged blob gets a response with ERR_DATA_DAMAGED, and is logged', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const first = await startNode(t, folder)
  await first.call('/api/v2/blob/-/note', { method: 'PUT', body: blob.bytes })
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const file = blobFile(folder, 'default-topic')
  const bytes = readFileSync(file)
  const at = bytes.indexOf(blob.bytes.subarray(100, 200))
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(file, bytes)
  const second = await startNode(t, folder)
  const response = await second.call('/api/v2/blob/-/note')
  assert.equal(response.status, 500)
  const error = (await response.json()) as { code: string; message: string }
  assert.equal(error.code, 'ERR_DATA_DAMAGED')
  assert.match(error.message, /the blob 'note' of the app '.*' is damaged\. .*`shoal store verify`/)
  assert.ok(
    second.log.some((line) => /ERROR api: request failed: the blob 'note'/.test(line)),
    second.log.join(''),
  )
})
