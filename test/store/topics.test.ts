import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { deleteTopic, topicFile, topicSizes, topicsFolder } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'

const endings = [
  '.db',
  '.db-wal',
  '.db-shm',
  '.db-count',
  '.db-wal.damaged',
  '.db-accepted',
  '-blobs.db',
  '-blobs.db-wal',
  '-blocks.db',
  '-blocks.db-count',
  '-blocks.slots',
]

test('exactly the files of a topic are counted and deleted, whatever others are called', (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(topicsFolder(folder))
  const nameOf = (topic: string): string => basename(topicFile(folder, topic), '.db')
  // The last one is called like a file of the first.
  const topics = ['t-i', 't-index', 't_i', 't/i', nameOf('t-i'), `${nameOf('t-i')}-blobs`]
  const write = (topic: string): void => {
    for (const ending of endings) writeFileSync(join(topicsFolder(folder), `${nameOf(topic)}${ending}`), 'xx')
  }
  write('t-i')
  assert.deepEqual(topicSizes(folder, 't-i'), { 't-i': 2 * endings.length })
  for (const topic of topics) write(topic)
  for (const topic of topics) {
    const before = readdirSync(topicsFolder(folder))
    assert.equal(deleteTopic(folder, topic), true)
    const gone = before.filter((file) => !readdirSync(topicsFolder(folder)).includes(file))
    assert.deepEqual(gone.sort(), endings.map((ending) => `${nameOf(topic)}${ending}`).sort())
    assert.equal(deleteTopic(folder, topic), false)
    write(topic)
  }
})

test('a topic whose database cannot be read is listed by its file, and a folder without topics is empty', (t) => {
  const folder = temporaryFolder(t)
  assert.deepEqual(topicSizes(folder, 'a'), {})
  assert.equal(deleteTopic(folder, 'a'), false)
  mkdirSync(topicsFolder(folder))
  writeFileSync(topicFile(folder, 'a'), 'not a database')
  assert.deepEqual(topicSizes(folder, undefined), { [basename(topicFile(folder, 'a'))]: 14 })
})
