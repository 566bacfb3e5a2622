import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolders } from '../../scripts/damage/data-folder.ts'
import { verifyFolder } from '../../src/store/index.ts'
import { memoryFolder } from './damage/folder.ts'

const pageBytes = 4096

test('an intact data folder has no problems, also after a kill', async (t) => {
  const folders = await makeFolders(memoryFolder(t))
  for (const folder of Object.values(folders)) {
    const { problems, reports } = verifyFolder(folder)
    assert.deepEqual(problems, [], folder)
    assert.deepEqual(
      reports.map(({ topic, files, blobs }) => [topic, files?.blocks, blobs?.blobs]),
      [['damage', 3, 6]],
    )
  }
})

test('a zeroed page of any database or of the slot file is a problem with its position', async (t) => {
  const { stopped } = await makeFolders(memoryFolder(t))
  const files = ['node.db', ...readdirSync(join(stopped, 'topics')).map((name) => join('topics', name))]
  const checked = files.filter((name) => /\.(db|slots)$/.test(name))
  assert.equal(checked.length, 5)
  for (const name of checked) {
    const file = join(stopped, name)
    const sound = readFileSync(file)
    for (let at = 0; at < sound.length; at += pageBytes) {
      const end = Math.min(sound.length, at + pageBytes)
      // Free space within a large page may be zero already.
      if (sound.subarray(at, end).every((byte) => byte === 0)) continue
      writeFileSync(file, Buffer.from(sound).fill(0, at, end))
      const { problems } = verifyFolder(stopped)
      const where = `${name}, page ${at / pageBytes}`
      assert.notDeepEqual(problems, [], where)
      for (const problem of problems) assert.match(problem, /^(topic 'damage'|node\.db|damage-[\w-]+\.db): /, where)
    }
    writeFileSync(file, sound)
  }
  assert.deepEqual(verifyFolder(stopped).problems, [])
})

test('a damaged write-ahead log is a problem, and is not changed before the next start', async (t) => {
  const { killed } = await makeFolders(memoryFolder(t))
  const topics = join(killed, 'topics')
  const logs = readdirSync(topics).filter((name) => name.endsWith('-wal'))
  assert.equal(logs.length, 3)
  for (const name of logs) {
    const file = join(topics, name)
    const sound = readFileSync(file)
    for (const at of [20, 100, 9000, Math.floor(sound.length / 2)]) {
      const damaged = Buffer.from(sound)
      damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at)
      writeFileSync(file, damaged)
      const { problems } = verifyFolder(killed)
      assert.match(
        problems.join('\n'),
        new RegExp(`The write-ahead log .*${name}. is damaged at`),
        `${name}, byte ${at}`,
      )
      assert.deepEqual(readFileSync(file), damaged, `${name}, byte ${at}`)
    }
    writeFileSync(file, sound)
  }
})

test('a database of a topic that is missing, or in the file of another topic, is a problem', async (t) => {
  const { stopped } = await makeFolders(memoryFolder(t))
  const topics = join(stopped, 'topics')
  const [events = ''] = readdirSync(topics).filter((name) => /-[0-9a-f]{16}\.db$/.test(name))
  copyFileSync(join(topics, events), join(topics, 'other-0123456789abcdef.db'))
  assert.deepEqual(verifyFolder(stopped).problems, [
    "topic 'damage': it is in the file of another topic, `other-0123456789abcdef.db`",
  ])
})
