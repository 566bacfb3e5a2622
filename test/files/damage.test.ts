import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { blockStats, verifyBlocks } from '../../src/store/index.ts'
import { memoryFolder } from '../store/damage/folder.ts'
import { columnBits, writeFlipped, writeSound } from '../store/damage/rows.ts'
import { nodeId } from '../support/api.ts'
import { testSeed } from '../support/seed.ts'
import { storeFile } from '../support/upload.ts'

/** A store with two names, cleanly closed. */
async function namedFiles(t: TestContext): Promise<{ file: string; sound: Buffer }> {
  const file = join(memoryFolder(t), 'x-blocks.db')
  const store = new FileStore(file, systemRuntime)
  const stream = `${nodeId}-3`
  for (const [i, name] of ['one', 'two'].entries()) {
    const { id, cid } = await storeFile(store, name)
    const key = { lamport: 5 + i, stream }
    await store.apply(
      [
        { fact: { kind: 'upload', cid, isPinned: true }, key },
        { fact: { kind: 'name', name, cid }, key },
      ],
      { [stream]: 5 + i },
    )
    store.endUpload(id)
  }
  await store.close()
  // The count file is covered by other tests.
  rmSync(`${file}-count`)
  return { file, sound: readFileSync(file) }
}

async function namesIn(file: string): Promise<string> {
  const store = new FileStore(file, systemRuntime)
  try {
    return JSON.stringify([store.names(), store.appliedOffsets()])
  } finally {
    await store.close()
  }
}

test('a flipped bit in a name or a followed offset is refused and found by verify', async (t) => {
  const { file, sound } = await namedFiles(t)
  const bits = columnBits(file).filter(({ table }) => table === 'register' || table === 'followed')
  const start = testSeed(t) % 7
  for (let i = start; i < bits.length; i += 7) {
    const bit = bits[i] as (typeof bits)[number]
    const where = `bit ${bit.bit} of ${bit.table}.${bit.column} where ${bit.key[0]} = ${String(bit.key[1])}`
    // The first column is not unique, so the bit is flipped in all rows of that kind.
    if (!writeFlipped(file, sound, bit)) continue
    assert.notDeepEqual(verifyBlocks(file, '').problems, [], where)
    await assert.rejects(namesIn(file), ShoalError, where)
  }
})

test('a store of an earlier version opens, and names that are set get checksums', async (t) => {
  const { file, sound } = await namedFiles(t)
  const right = await namesIn(file)
  const version1 = `
    ALTER TABLE register DROP COLUMN crc; ALTER TABLE followed DROP COLUMN crc; DROP TABLE change;
    DROP TABLE want; PRAGMA user_version = 1`
  const opens = [
    async () => assert.equal(await namesIn(file), right),
    async () => assert.equal(blockStats(file).names, 2),
  ]
  for (const open of opens) {
    writeSound(file, sound)
    const database = new DatabaseSync(file)
    database.exec(version1)
    database.close()
    await open()
    assert.deepEqual(verifyBlocks(file, '').problems, [])
  }
})
