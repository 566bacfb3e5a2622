import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { EventStore } from '../../src/store/port/index.ts'
import { LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { rowKey } from '../../src/store/sqlite/rows/row-key.ts'
import { temporaryFolder } from '../support/folder.ts'
import { memoryStore } from './acceptance/sources.ts'
import { chunksOf, numbered, requestOf } from './acceptance/support.ts'

interface Sealed {
  readonly file: string
  readonly writer: LogWriter
  readonly source: EventStore
  readonly chunks: readonly Uint8Array[]
}

/** A store with two sealed chunks of another node, and the start of a third one. */
async function sealedStore(t: TestContext): Promise<Sealed> {
  const file = join(temporaryFolder(t), 'log.db')
  const source = memoryStore()
  for (const first of [0, 1024]) await source.append(requestOf(numbered(1024, first)))
  await source.append(requestOf(numbered(3, 2048)))
  const chunks = await chunksOf(source)
  const key = KeyPair.generate(systemRandom)
  const writer = new LogWriter({ file, topic: 'a-topic', kind: 'live', key, now: nowMicros, random: systemRandom })
  t.after(() => writer.close())
  for (const chunk of chunks) writer.receive(chunk)
  writer.sealAll()
  return { file, writer, source, chunks }
}

function change(file: string, sql: string, ...values: number[]): void {
  const database = new DatabaseSync(file)
  database.prepare(sql).run(...values)
  database.close()
}

const damages = {
  'a damaged block': 'UPDATE segment SET block0 = zeroblob(20) WHERE key = ?',
  'damaged framing': 'UPDATE segment SET framing = zeroblob(20) WHERE key = ?',
  'damaged metadata': 'UPDATE segment SET last = last + 1 WHERE key = ?',
  'a missing row': 'DELETE FROM segment WHERE key = ?',
}

for (const [name, sql] of Object.entries(damages))
  test(`a sealed chunk with ${name} is replaced when it is received again`, async (t) => {
    const { file, writer, chunks } = await sealedStore(t)
    const [first, second] = chunks as [Uint8Array, Uint8Array]
    assert.deepEqual(verifyLog(file).problems, [])
    change(file, sql, rowKey(0, 1024))
    assert.notDeepEqual(verifyLog(file).problems, [])
    assert.deepEqual(writer.receive(first), { state: 'known', count: 2051 })
    assert.deepEqual(writer.receive(second), { state: 'repaired', count: 2051 })
    assert.deepEqual(verifyLog(file).problems, [])
    assert.deepEqual(writer.receive(second), { state: 'known', count: 2051 })
  })

test('a repaired chunk does not get redacted payloads back', async (t) => {
  const { file, writer, source, chunks } = await sealedStore(t)
  writer.applyRedactions([await source.redact(0, [5])])
  change(file, 'DELETE FROM segment WHERE key = ?', rowKey(0, 0))
  assert.equal(writer.receive(chunks[0] as Uint8Array).state, 'repaired')
  const { problems, removedPayloads } = verifyLog(file)
  assert.deepEqual([problems, removedPayloads], [[], 1])
})

test('a damaged chunk is not replaced by a part of it, nor by frames that do not lead to its head', async (t) => {
  const { file, writer, source, chunks } = await sealedStore(t)
  change(file, 'DELETE FROM segment WHERE key = ?', rowKey(0, 0))
  const [frame] = await source.framesOfChunk(0, 0)
  const part = (await source.chunk(0, frame?.end ?? 0)) as Uint8Array
  assert.equal(writer.receive(part).state, 'known')
  const forged = Buffer.from(chunks[0] as Uint8Array)
  forged.write('{"n":78}', forged.indexOf('{"n":77}'))
  assert.equal(writer.receive(forged).state, 'known')
  assert.notDeepEqual(verifyLog(file).problems, [])
  assert.equal(writer.receive(chunks[0] as Uint8Array).state, 'repaired')
})
