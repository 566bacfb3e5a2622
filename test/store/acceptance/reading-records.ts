import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { verifyRedactionRecord } from '../../../src/protocol/index.ts'
import { recordsHash } from '../../../src/replication/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { fill, signedRedaction } from './removals.ts'
import { memoryStore } from './sources.ts'
import { chunksOf, hex, numbered, range, replicate, requestOf, rules, textOf } from './support.ts'

async function redactionsOf(store: EventStore, from?: number, to?: number): Promise<(string | undefined)[]> {
  return (await store.records(0, from, to)).redactions.map(hex)
}

async function hashOf(store: EventStore): Promise<string> {
  const [stream] = await store.streams()
  assert.ok(stream !== undefined)
  const { redactions } = await store.records(0)
  const ranges = redactions.flatMap((record) => verifyRedactionRecord(record).ranges)
  return Buffer.from(recordsHash('a-topic', stream, ranges), 'latin1').toString('hex')
}

/** Records that are read back, to be sent to other nodes. */
export const readingRecords = rules(({ small, large }) => {
  large('the records of a stream are those that were made, and a new node can follow them', async (t, open) => {
    const [store, other] = [await open(t), memoryStore()]
    assert.deepEqual(await store.records(0), { redactions: [] })
    await fill(store)
    assert.deepEqual(await store.records(0), { redactions: [] })
    const records = [
      await store.redact(0, [5, 6]),
      await store.redact(0, [3000]),
      await store.redact(0, [2000, 2500, 3099]),
      await store.redact(0, [1200]),
    ]
    const [first, second, third, fourth] = records.map(hex)
    assert.deepEqual(await redactionsOf(store), [first, fourth, third, second])
    const prune = await store.prune(0, 1024 + 128)
    const [checkpoint] = await store.checkpoints(0)
    const read = await store.records(0)
    assert.deepEqual([hex(read.prune?.record), hex(read.prune?.head)], [hex(prune), hex(checkpoint?.head)])
    assert.equal(read.next, undefined)
    assert.deepEqual(read.redactions.map(hex), [fourth, third, second])
    assert.deepEqual(await store.applyPrune(prune), { state: 'known' })
    assert.deepEqual(hex(await store.prune(0, 1024)), hex(prune), 'the last one, when as much is pruned')
    await other.applyPrune(read.prune?.record as Uint8Array, read.prune?.head)
    await other.applyRedactions(read.redactions)
    await replicate(store, other)
    assert.equal(await textOf(other), await textOf(store))
    assert.deepEqual((await other.records(0)).redactions.map(hex), read.redactions.map(hex))
    assert.equal(await hashOf(other), await hashOf(store))
  })

  large('the records of a range of offsets are those with events in it', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const [a, b, c] = [await store.redact(0, [10, 2000]), await store.redact(0, [20]), await store.redact(0, [3000])]
    await store.redact(0, [10, 20])
    const [first, second, third] = [a, b, c].map(hex)
    assert.deepEqual(await redactionsOf(store, 0, 20), [first])
    assert.deepEqual(await redactionsOf(store, 11, 21), [second])
    assert.deepEqual(await redactionsOf(store, 20, 2001), [second, first])
    assert.deepEqual(await redactionsOf(store, 2001), [third])
    assert.deepEqual(await redactionsOf(store, 3001), [])
  })

  small('many redaction records are read in several parts', async (t, open) => {
    const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
    const { redactionsPerCall } = limits
    const records = range(0, redactionsPerCall + 44).map((i) => signedRedaction(key, 3 * i))
    await store.applyRedactions(records.slice(0, redactionsPerCall))
    assert.equal((await store.records(0)).next, undefined)
    await store.applyRedactions(records.slice(redactionsPerCall))
    const part = await store.records(0)
    assert.deepEqual([part.redactions.length, part.next], [redactionsPerCall, 3 * redactionsPerCall])
    const rest = await store.records(0, part.next)
    assert.equal(rest.next, undefined)
    assert.deepEqual([...part.redactions, ...rest.redactions].map(hex), records.map(hex))
  })

  large('the hash of the records is the same for nodes that got them in another order', async (t, open) => {
    const [store, source, other] = [await open(t), memoryStore(), memoryStore()]
    await source.append(requestOf(numbered(1024)))
    await source.append(requestOf(numbered(1024, 1024)))
    const records = [
      await source.redact(0, range(10, 20)),
      await source.redact(0, [15]),
      await source.redact(0, [19, 20, 1500]),
    ]
    const [before] = await chunksOf(source)
    await store.applyRedactions(records)
    for (const record of records.toReversed()) await other.applyRedaction(record)
    // Only what is here counts.
    for (const node of [store, other]) await node.receive(before as Uint8Array)
    assert.equal(await hashOf(store), await hashOf(other))
    assert.notEqual(await hashOf(store), await hashOf(source))
    await replicate(source, store)
    assert.equal(await hashOf(store), await hashOf(source))
    await store.applyPrune(await source.prune(0, 1024))
    assert.equal(await hashOf(store), await hashOf(source))
    assert.notEqual(await hashOf(store), await hashOf(other))
  })
})
