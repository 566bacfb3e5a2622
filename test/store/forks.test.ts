import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { memoryStore } from './acceptance/sources.ts'
import { hex, numbered, requestOf } from './acceptance/support.ts'

const key = KeyPair.generate(systemRandom)

function open(t: TestContext, file: string): LogWriter {
  const writer = new LogWriter({ file, topic: 'a-topic', kind: 'live', key, now: nowMicros, random: systemRandom })
  t.after(() => writer.close())
  return writer
}

/** Two chunks of one stream with different events. */
async function forkedChunks(): Promise<[Uint8Array, Uint8Array]> {
  const other = KeyPair.generate(systemRandom)
  const chunks: Uint8Array[] = []
  for (const count of [3, 4]) {
    const store = memoryStore(other)
    await store.append(requestOf(numbered(count)))
    chunks.push((await store.chunk(0, 0)) as Uint8Array)
  }
  return chunks as [Uint8Array, Uint8Array]
}

test('a stream is still frozen after a restart, and its evidence is kept', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const [one, other] = await forkedChunks()
  const first = open(t, file)
  first.receive(one)
  assert.equal(first.receive(other).state, 'forked')
  const evidence = first.evidence(0)
  first.close()
  const second = open(t, file)
  assert.equal(hex(second.evidence(0)), hex(evidence))
  assert.equal(second.receive(other).state, 'frozen')
})

test('a stream with damaged evidence stays frozen, and the evidence is not served', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const [one, other] = await forkedChunks()
  const first = open(t, file)
  first.receive(one)
  first.receive(other)
  first.close()
  const database = new DatabaseSync(file)
  database.exec('UPDATE evidence SET frozen = frozen + 1')
  database.close()
  const second = open(t, file)
  assert.throws(() => second.evidence(0), /the evidence of a fork of stream 0 is damaged/)
  assert.equal(second.receive(other).state, 'frozen')
})

test('a store of an earlier version has no evidence, and gets its table with the first write', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const [one, other] = await forkedChunks()
  const first = open(t, file)
  first.receive(one)
  first.close()
  const database = new DatabaseSync(file)
  database.exec('DROP TABLE evidence')
  database.close()
  const second = open(t, file)
  assert.equal(second.evidence(0), undefined)
  assert.equal(second.receive(other).state, 'forked')
  assert.notEqual(second.evidence(0), undefined)
})
