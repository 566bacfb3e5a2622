import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { MalformedBytes } from '../../src/protocol/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { buildSeal, LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { memoryStore } from './acceptance/sources.ts'
import { chunksOf, endOf, numbered, requestOf } from './acceptance/support.ts'

test('a refused chunk begins no transaction, reloads nothing, and a seal planned before still applies', async (t) => {
  const key = KeyPair.generate(systemRandom)
  const writer = new LogWriter({
    file: join(temporaryFolder(t), 'log.db'),
    topic: 'a-topic',
    kind: 'live',
    key,
    now: nowMicros,
    random: systemRandom,
  })
  t.after(() => writer.close())
  const source = memoryStore()
  await source.append(requestOf(numbered(1024)))
  await source.append(requestOf(numbered(10, 1024)))
  const [first, second] = (await chunksOf(source)) as [Uint8Array, Uint8Array]
  writer.append([requestOf(numbered(1024))])
  writer.receive(first)
  const plan = writer.upkeep.planSeal()
  assert.ok(plan !== undefined)
  const built = buildSeal(writer.database, plan)
  // SQLite cannot begin a transaction within another one: a receive that tried would fail with another error.
  writer.database.exec('BEGIN')
  const forged = Buffer.from(second)
  forged.write('{"n":9999}', forged.indexOf('{"n":1030}'))
  const unsigned = Buffer.from(second)
  unsigned[100] = (unsigned[100] ?? 0) ^ 1
  const before = endOf(first)
  for (const bad of [forged, unsigned, Buffer.from('no chunk')])
    assert.throws(() => writer.receive(bad, { before }), MalformedBytes)
  assert.deepEqual(writer.receive(forged), { state: 'contradicts', count: 1024 })
  writer.database.exec('ROLLBACK')
  assert.equal(writer.upkeep.planSeal()?.revision, plan.revision)
  assert.equal(writer.upkeep.applySeal(built), true)
  assert.deepEqual(writer.receive(second), { state: 'stored', count: 1034 })
})
