import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { doubtOf } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { memoryStore } from './acceptance/sources.ts'
import { numbered, numbersOf, range, requestOf, textOf } from './acceptance/support.ts'

async function filled(): Promise<MemoryEventStore> {
  const [store, other] = [memoryStore(KeyPair.generate(systemRandom)), memoryStore()]
  await store.append(requestOf(numbered(1100)))
  await other.append(requestOf(numbered(5, 1100)))
  await store.receive((await other.chunk(0, 0)) as Uint8Array)
  await store.redact(0, [1050])
  await store.prune(0, 1024)
  return store
}

const stateOf = async (store: MemoryEventStore) => ({
  text: await textOf(store),
  heads: (await store.heads()).map(({ key, count, hash, pruned }) => ({ key, count, hash, pruned })),
  records: await store.records(0),
  checkpoints: await store.checkpoints(0),
})

test('a copy of a store in memory has the same streams, and both go on by themselves', async () => {
  const store = await filled()
  const before = await stateOf(store)
  const copy = store.copy({})
  assert.deepEqual(await stateOf(copy), before)
  await store.append(requestOf(numbered(3, 2000)))
  await store.redact(0, [1060])
  assert.deepEqual(await stateOf(copy), before)
  const { lamport } = await copy.append(requestOf(numbered(1, 3000)))
  assert.equal(lamport, 1100)
  assert.deepEqual((await numbersOf(store)).slice(-3), range(2000, 2003))
  assert.equal((await numbersOf(copy)).at(-1), 3000)
})

test('a copy is found as it is said, and knows whether heads were announced', async () => {
  const store = await filled()
  assert.equal(doubtOf(await store.copy({ isCleanStop: false }).startMarks()), undefined)
  await store.markAnnounced()
  await store.close()
  assert.equal(doubtOf(await store.copy({}).startMarks()), undefined)
  assert.equal(doubtOf(await store.copy({ isCleanStop: false }).startMarks()), 'unclean')
  assert.equal(doubtOf(await store.copy({ isSameFile: false }).startMarks()), 'copied')
  assert.equal(doubtOf(await store.copy({ isRestored: true }).startMarks()), 'restored')
  assert.equal(doubtOf(await store.copy({}).copy({ isCleanStop: false }).startMarks()), 'unclean')
})

test('a copy has what was saved about the clock before', async () => {
  const store = await filled()
  await store.saveClockRecord('before')
  const copy = store.copy({})
  await store.saveClockRecord('after')
  assert.deepEqual([await copy.clockRecord(), await store.clockRecord()], ['before', 'after'])
})
