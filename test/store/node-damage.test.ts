import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { nodeIdOf } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { Settings } from '../../src/settings/index.ts'
import { NodeDatabase } from '../../src/store/index.ts'
import { testSeed } from '../support/seed.ts'
import { memoryFolder } from './damage/folder.ts'
import { startOn, writeNodeDatabase, writeVersion1 } from './damage/node-folder.ts'
import { type ColumnBit, columnBits, writeFlipped, writeSound } from './damage/rows.ts'
import { buildSmallStore, openWriter, otherKey, ownKey } from './damage/small-store.ts'

function isRefusal(error: unknown, message: RegExp): boolean {
  assert.ok(error instanceof ShoalError, String(error))
  assert.equal(error.code, 'ERR_INVALID_NODE_STATE')
  assert.match(error.message, message)
  return true
}

function nameOf({ table, key, column, bit }: ColumnBit): string {
  return `bit ${bit} of ${table}.${column} where ${key[0]} = ${String(key[1])}`
}

test('a start is refused for every flipped bit of the key, the node ID, the start counter and their checksum', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  const bits = columnBits(file).filter(({ table }) => table === 'node')
  const damaged = `${file}.damaged`
  let refused = 0
  for (const bit of bits) {
    if (!writeFlipped(damaged, sound, bit)) continue
    const message = bit.key[1] === 'private_key' ? /(private key|identity of the node) .*is damaged/ : /is damaged/
    await assert.rejects(startOn(damaged), (error) => isRefusal(error, message), nameOf(bit))
    refused++
  }
  assert.ok(refused > 8 * (45 + 43), `${refused} bits`)
})

test('a start is refused for every flipped bit of a key without a checksum, if the node has written events', (t) => {
  const folder = memoryFolder(t)
  const { file: log } = buildSmallStore(folder)
  const file = join(folder, 'node.db')
  writeVersion1(file)
  const sound = readFileSync(file)
  const bits = columnBits(file).filter(({ key, column }) => key[1] === 'private_key' && column === 'value')
  assert.equal(bits.length, 8 * 45)
  const damaged = `${file}.damaged`
  for (const bit of bits) {
    assert.ok(writeFlipped(damaged, sound, bit))
    const database = NodeDatabase.open(damaged)
    assert.throws(
      () => database.beginStart(systemRandom, [log]),
      (error) => isRefusal(error, /private key .*is damaged/),
      nameOf(bit),
    )
    database.close()
  }
})

test('a node database of an earlier format version can be opened, and its rows get checksums', async (t) => {
  const folder = memoryFolder(t)
  const file = join(folder, 'node.db')
  writeVersion1(file)
  const before = JSON.parse(await startOn(file, [buildSmallStore(folder).file])) as { key: string; cycle: number }
  assert.deepEqual([before.key, before.cycle], [ownKey.toPrivateText(), 5])
  const sound = readFileSync(file)
  const after = JSON.parse(await startOn(file)) as { key: string; cycle: number }
  assert.deepEqual([after.key, after.cycle], [before.key, 6])
  for (const bit of columnBits(file).filter(({ key, column }) => key[1] === 'private_key' && column === 'value')) {
    assert.ok(writeFlipped(`${file}.damaged`, sound, bit))
    await assert.rejects(startOn(`${file}.damaged`), (error) => isRefusal(error, /private key .*is damaged/))
  }
})

test('a node database without a key does not get a new key if there are events', (t) => {
  const folder = memoryFolder(t)
  const { file: log } = buildSmallStore(folder)
  const database = NodeDatabase.open(join(folder, 'node.db'))
  t.after(() => database.close())
  assert.throws(
    () => database.beginStart(systemRandom, [log]),
    (error) => isRefusal(error, /has no private key, but there are events in/),
  )
})

test('opening an event log with a different key than the one that wrote it is refused', (t) => {
  const { file } = buildSmallStore(memoryFolder(t))
  assert.throws(
    () => openWriter(file, otherKey).close(),
    (error) => isRefusal(error, new RegExp(`written by the node ${nodeIdOf(ownKey.publicKey)}`)),
  )
  openWriter(file, ownKey).close()
})

test('a start is refused for every flipped bit of the newest settings row, and a rollback recovers', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  const damaged = `${file}.damaged`
  const ofRow = (bit: ColumnBit): boolean => bit.table === 'settings' && bit.column !== 'seal' && bit.key[1] === 2n
  const bits = columnBits(file).filter(ofRow)
  assert.ok(bits.length > 8 * 64, `${bits.length} bits`)
  for (const bit of bits) {
    if (!writeFlipped(damaged, sound, bit)) continue
    const refusal =
      /Revision -?\d+ of the settings is damaged.* revision 1, with the topic 'hall-2'.*rollback 1 --working-dir/
    await assert.rejects(startOn(damaged), (error) => isRefusal(error, refusal), nameOf(bit))
    assert.equal(await rollBack(damaged, 1), 'hall-2', nameOf(bit))
  }
})

/** Rolls back to a revision. Returns the topic of the next start. */
async function rollBack(file: string, revision: number): Promise<string> {
  const database = NodeDatabase.open(file)
  try {
    await (await Settings.openIgnoringDamage(database.settings, systemClock)).rollback(revision, 'test')
    assert.deepEqual(database.problems(), [])
    return (await Settings.open(database.settings, systemClock)).document.swarm.topic
  } finally {
    database.close()
  }
}

test('a flipped bit of an earlier settings row or of a seal does not affect the start, and verify reports such a row', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  const right = await startOn(file)
  const damaged = `${file}.damaged`
  const bits = columnBits(file).filter(
    ({ table, column, key }, i) =>
      i % 5 === 0 && table === 'settings' && (key[1] === 1n || column === 'seal') && column !== 'revision',
  )
  for (const bit of bits) {
    assert.ok(writeFlipped(damaged, sound, bit))
    const database = NodeDatabase.open(damaged)
    const problems = database.problems()
    database.close()
    assert.deepEqual(problems, bit.column === 'seal' ? [] : ['revision 1 of the settings is damaged'], nameOf(bit))
    assert.equal(await startOn(damaged), right, nameOf(bit))
  }
})

test('the loss of the newest settings row is detected', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  writeSound(file, sound)
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file)
  database.exec('DELETE FROM settings WHERE revision = 2')
  database.close()
  await assert.rejects(startOn(file), (error) => isRefusal(error, /Revision 2 of the settings is damaged/))
  assert.equal(await rollBack(file, 1), 'hall-2')
})

test('a flipped bit anywhere in the file of the node database is refused or harmless', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  const right = await startOn(file)
  const step = 211
  let refused = 0
  for (let i = testSeed(t) % step; i < 8 * sound.length; i += step) {
    const bytes = Buffer.from(sound)
    bytes.writeUInt8(bytes.readUInt8(i >> 3) ^ (1 << (i & 7)), i >> 3)
    writeSound(file, bytes)
    try {
      assert.equal(await startOn(file), right, `bit ${i & 7} of byte ${i >> 3}`)
    } catch (error) {
      assert.ok(error instanceof ShoalError, `bit ${i & 7} of byte ${i >> 3}: ${String(error)}`)
      refused++
    }
  }
  assert.ok(refused > 0)
})

test('a schema that has lost a column of the revision count is refused', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  const at = sound.indexOf('sqlite_sequence(name')
  assert.ok(at > 0)
  const bytes = Buffer.from(sound)
  bytes.write('nbme', at + 'sqlite_sequence('.length)
  writeSound(file, bytes)
  await assert.rejects(startOn(file), (error) => isRefusal(error, /no such column: name/))
})

test('a zeroed page of the node database is refused', async (t) => {
  const { file, sound } = await writeNodeDatabase(memoryFolder(t))
  for (let at = 0; at < sound.length; at += 4096) {
    writeFileSync(file, Buffer.from(sound).fill(0, at, at + 4096))
    await assert.rejects(startOn(file), (error) => isRefusal(error, /./), `page ${1 + at / 4096}`)
  }
})
