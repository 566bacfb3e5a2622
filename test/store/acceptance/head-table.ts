import assert from 'node:assert/strict'
import { KeyPair, type PublicKey } from '../../../src/identity/index.ts'
import { heads, type StreamKey } from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore, StreamStatus } from '../../../src/store/port/index.ts'
import { fill, signedRedaction } from './removals.ts'
import { memoryStore } from './sources.ts'
import { hex, numbered, replicate, requestOf, rules } from './support.ts'

/** The head table, with hashes as text. */
async function tableOf(store: EventStore): Promise<unknown> {
  return (await store.heads()).map(({ head, hash, records, key, ...row }) => ({
    ...row,
    records: Buffer.from(records, 'latin1').toString('hex'),
    stream: `${hex(key.node)}-${key.number}`,
    hash: Buffer.from(hash, 'latin1').toString('hex'),
    head: hex(head),
  }))
}

/** The table of the newest heads of all streams. */
export const tabulating = rules(({ small, large }) => {
  small('the head table has the own streams and those of other nodes, by number', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    assert.deepEqual(await store.heads(), [])
    await store.append(requestOf(numbered(3)))
    await source.append(requestOf([...numbered(2), ...numbered(5, 0, 1)]))
    await replicate(source, store)
    await store.append(requestOf(numbered(4, 0, 1)))
    const table = await store.heads()
    assert.deepEqual(
      table.map(({ number, own, count, pruned, key }) => [number, own, count, pruned, key.number]),
      [
        [0, true, 3, 0, 0],
        [1, false, 2, 0, 0],
        [2, false, 5, 0, 1],
        [3, true, 4, 0, 1],
      ],
    )
    for (const { number, key, count, lamport, hash, head } of table) {
      const { stream, ...verified } = heads.verify(head as Uint8Array)
      assert.deepEqual(stream, key)
      assert.deepEqual([verified.count, verified.lamport, verified.hash], [count, lamport, hash])
      assert.equal(hash, await store.hashAt(number, count))
      assert.equal(hex(head), hex(await store.head(number)))
    }
  })

  small('heads are signed once, and again when the stream has grown', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf([...numbered(3), ...numbered(3, 0, 1)]))
    const first = await tableOf(store)
    assert.deepEqual(await tableOf(store), first)
    await store.append(requestOf(numbered(1, 3)))
    const [grown, same] = (await tableOf(store)) as [{ count: number }, unknown]
    assert.equal(grown.count, 4)
    assert.deepEqual(same, (first as unknown[])[1])
    assert.deepEqual(await tableOf(store), [grown, same])
  })

  large('the head table has the pruned counts, and the head of a pruned stream', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(store)
    await fill(source)
    await replicate(source, store)
    await store.prune(0, 1024)
    await store.applyPrune(await source.prune(0, 2048))
    assert.deepEqual(
      (await store.heads()).map(({ own, count, pruned }) => [own, count, pruned]),
      [
        [true, 3100, 1024],
        [false, 3100, 2048],
      ],
    )
    await store.prune(0, 3100)
    const [row] = await store.heads()
    assert.deepEqual([row?.count, row?.pruned], [3100, 3100])
    assert.equal(heads.verify(row?.head as Uint8Array).checkpoint, true)
  })

  small('streams without events and imported streams are not in the head table', async (t, open) => {
    const [store, imported] = [await open(t), await open(t, { kind: 'imported' })]
    await store.applyRedaction(signedRedaction(KeyPair.generate(systemRandom), 3))
    assert.deepEqual(await store.heads(), [])
    await imported.append(requestOf(numbered(3)))
    assert.deepEqual(await imported.heads(), [])
  })

  small('a row has the removed payloads, and is the same when it is read alone', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await source.append(requestOf(numbered(5)))
    await replicate(source, store)
    const [before] = await store.heads()
    await store.applyRedaction(await source.redact(0, [1, 3]))
    const [row] = await store.heads()
    assert.notEqual(row?.records, before?.records)
    assert.deepEqual(await store.headOf(row?.key as StreamKey), row)
    const [redacted] = await source.heads()
    assert.equal(row?.records, redacted?.records)
    await store.append(requestOf(numbered(2)))
    const own = (await store.heads())[1]
    assert.equal(own?.own, true)
    assert.deepEqual(await store.headOf(own?.key as StreamKey), own)
    assert.equal(await store.headOf({ node: KeyPair.generate(systemRandom).publicKey, number: 0 }), undefined)
  })

  small('a stream is found by its key', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await store.append(requestOf([...numbered(3, 0, 5), ...numbered(1)]))
    await source.append(requestOf(numbered(2)))
    await replicate(source, store)
    const streams = await store.streams()
    assert.equal(streams.length, 3)
    for (const stream of streams) {
      const { node, number } = stream.key
      const found = await store.streamOf({ node: Uint8Array.from(node) as PublicKey, number })
      assert.deepEqual(found, stream)
    }
    assert.equal(await store.streamOf({ node: KeyPair.generate(systemRandom).publicKey, number: 0 }), undefined)
    const [{ key }] = (await source.streams()) as [StreamStatus]
    const { node } = key
    assert.equal(await store.streamOf({ node, number: 1 }), undefined)
    await source.append(requestOf(numbered(2, 0, 1)))
    await replicate(source, store)
    assert.equal((await store.streamOf({ node, number: 1 }))?.count, 2)
  })
})
