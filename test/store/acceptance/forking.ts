import assert from 'node:assert/strict'
import { ShoalError } from '../../../src/base/errors.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { encodeChunk } from '../../../src/protocol/index.ts'
import { readChunk, verifyEvidence } from '../../../src/replication/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { memoryStore } from './sources.ts'
import {
  chunksOf,
  endOf,
  hex,
  idOf,
  isMalformed,
  numbered,
  numbersOf,
  range,
  requestOf,
  rules,
  streamOf,
  textOf,
  unchanged,
} from './support.ts'

const context = { topic: 'a-topic', kind: 'live' } as const

/** A node and a restored backup of it: the same events in common, then others. Equal writes make equal frames. */
async function forkedNode(
  key: KeyPair,
  common: readonly number[],
  own: readonly [number, number],
): Promise<EventStore[]> {
  const random = { bytes: (length: number) => Buffer.alloc(length, 7) }
  const runtime = { ...systemRuntime, random }
  const branches = [0, 1].map(
    () => new MemoryEventStore({ runtime, ...context, key, now: () => 1_700_000_000_000_000 }),
  )
  for (const [i, branch] of branches.entries()) {
    let from = 0
    for (const count of common) {
      await branch.append(requestOf(numbered(count, from)))
      from += count
    }
    await branch.append(requestOf(numbered(own[i] as number, 10_000 * (i + 1))))
  }
  return branches
}

function readCount(chunk: Uint8Array): number {
  return readChunk(chunk).head.count
}

/** The frames of a stream from an offset on, as a chunk. */
async function chunkAfter(store: EventStore, from: number): Promise<Uint8Array> {
  const { frames, signedHead } = readChunk((await store.chunk(0, 0)) as Uint8Array)
  const later = frames.filter(({ first }) => first >= from)
  return encodeChunk(
    later.map(({ bytes, record }) => bytes.subarray(...record)),
    signedHead,
  )
}

const isForked = (error: unknown): boolean => error instanceof ShoalError && error.code === 'ERR_STREAM_FORKED'

/** Streams whose node has signed two histories. */
export const forking = rules(({ small, large }) => {
  large(
    'a fork freezes the stream at the last common checkpoint, and what was delivered stays readable',
    async (t, open) => {
      const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
      const [one, other] = (await forkedNode(key, [1024, 20], [30, 1100])) as [EventStore, EventStore]
      for (const chunk of await chunksOf(one)) await store.receive(chunk)
      const before = await textOf(store)
      const [common, branch] = (await chunksOf(other)) as [Uint8Array, Uint8Array]
      assert.equal(await store.evidence(0), undefined)
      assert.deepEqual(await store.receive(common), { state: 'known', count: 1074 })
      assert.deepEqual(await store.receive(branch), { state: 'forked', count: 1074 })
      await unchanged(store, async () => {
        for (const chunk of [common, branch, ...(await chunksOf(one))])
          assert.deepEqual(await store.receive(chunk), { state: 'frozen', count: 1074 })
      })
      assert.equal(await textOf(store), before)
      assert.equal(hex(await store.chunk(0, 0)), hex(common))
      assert.equal(await store.chunk(0, 1024), undefined)
      const evidence = (await store.evidence(0)) as Uint8Array
      assert.equal(verifyEvidence(evidence, context).common?.count, 1024)
    },
  )

  large('a shorter branch is not taken for known', async (t, open) => {
    const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
    const [one, other] = (await forkedNode(key, [1024, 20], [30, 10])) as [EventStore, EventStore]
    for (const chunk of await chunksOf(one)) await store.receive(chunk)
    assert.deepEqual(await store.receive((await other.chunk(0, 1024)) as Uint8Array), { state: 'forked', count: 1074 })
    assert.equal(verifyEvidence((await store.evidence(0)) as Uint8Array, context).common?.count, 1024)
  })

  large('a waiting chunk of another branch is found out when the gap before it is filled', async (t, open) => {
    const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
    const [one, other] = (await forkedNode(key, [4], [1100, 1100])) as [EventStore, EventStore]
    await other.append(requestOf(numbered(10, 30_000)))
    const chunks = (await chunksOf(other)) as [Uint8Array, Uint8Array]
    const [first] = (await chunksOf(one)) as [Uint8Array]
    // The stream is known by a record, and has no events yet.
    await store.applyRedaction(await one.redact(0, [1]))
    assert.deepEqual(await store.receive(chunks[1], { before: endOf(chunks[0]) }), { state: 'waiting', count: 0 })
    assert.deepEqual(await store.receive(first), { state: 'forked', count: readCount(first) })
    assert.equal((await numbersOf(store)).length, readCount(first) - 1)
    assert.equal(await store.chunk(0, 0), undefined)
  })

  large('evidence from another node freezes the stream, once, and spreads further', async (t, open) => {
    const [store, witness, key] = [await open(t), memoryStore(), KeyPair.generate(systemRandom)]
    const [one, other] = (await forkedNode(key, [1024], [30, 40])) as [EventStore, EventStore]
    for (const chunk of await chunksOf(one)) await store.receive(chunk)
    for (const branch of [one, other]) for (const chunk of await chunksOf(branch)) await witness.receive(chunk)
    const evidence = (await witness.evidence(0)) as Uint8Array
    const given = Buffer.from(evidence)
    assert.deepEqual(await store.applyEvidence(given), { state: 'applied' })
    given.fill(0)
    assert.deepEqual(await store.applyEvidence(evidence), { state: 'known' })
    assert.equal(hex(await store.evidence(0)), hex(evidence))
    await one.append(requestOf(numbered(1, 40_000)))
    assert.deepEqual(await store.receive((await one.chunk(0, 1024)) as Uint8Array), { state: 'frozen', count: 1054 })
    assert.equal(await store.chunk(0, 1024), undefined)
    assert.ok((await store.chunk(0, 0)) !== undefined)
  })

  small('evidence that proves nothing changes nothing', async (t, open) => {
    const [store, witness, key] = [await open(t), memoryStore(), KeyPair.generate(systemRandom)]
    const [one, other] = (await forkedNode(key, [4], [3, 5])) as [EventStore, EventStore]
    for (const branch of [one, other]) await witness.receive((await branch.chunk(0, 0)) as Uint8Array)
    const evidence = Buffer.from((await witness.evidence(0)) as Uint8Array)
    await store.receive((await one.chunk(0, 0)) as Uint8Array)
    const damaged = Buffer.from(evidence)
    damaged[200] = (damaged[200] ?? 0) ^ 1
    await unchanged(store, () => assert.rejects(store.applyEvidence(damaged), isMalformed))
    assert.equal(await store.evidence(0), undefined)
    assert.deepEqual(await store.applyEvidence(evidence), { state: 'applied' })
  })

  small('a stream is frozen before any of its events arrives, and is in the head table', async (t, open) => {
    const [store, witness, key] = [await open(t), memoryStore(), KeyPair.generate(systemRandom)]
    const [one, other] = (await forkedNode(key, [4], [3, 5])) as [EventStore, EventStore]
    for (const branch of [one, other]) await witness.receive((await branch.chunk(0, 0)) as Uint8Array)
    const evidence = (await witness.evidence(0)) as Uint8Array
    assert.deepEqual(await store.applyEvidence(evidence), { state: 'applied' })
    assert.deepEqual(await store.applyEvidence(evidence), { state: 'known' })
    assert.deepEqual(await store.receive((await one.chunk(0, 0)) as Uint8Array), { state: 'frozen', count: 0 })
    const [row, ...others] = await store.heads()
    assert.deepEqual([row?.count, row?.frozen, row?.head, others], [0, true, undefined, []])
    assert.deepEqual(await store.headOf({ node: key.publicKey, number: 0 }), row)
  })

  small('an own stream is frozen by evidence: appending to it fails, other streams go on', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, witness] = [await open(t, { key }), memoryStore()]
    const branches = await forkedNode(key, [4], [3, 5])
    for (const branch of branches) await witness.receive((await branch.chunk(0, 0)) as Uint8Array)
    await store.append(requestOf(numbered(2)))
    assert.deepEqual(await store.applyEvidence((await witness.evidence(0)) as Uint8Array), { state: 'applied' })
    await unchanged(store, async () => {
      await assert.rejects(store.append(requestOf(numbered(1))), isForked)
      await assert.rejects(store.append(requestOf([...numbered(1, 0, 1), ...numbered(1)])), isForked)
    })
    const { lamport } = await store.append(requestOf(numbered(2, 2, 1)))
    assert.equal(lamport, 2)
    assert.deepEqual(await numbersOf(store), range(0, 4))
    assert.equal((await streamOf(store, idOf(key))).count, 2)
  })

  small(
    'a chunk that proves no fork contradicts the stream, until the head before it is sent, too',
    async (t, open) => {
      const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
      const [one, other] = (await forkedNode(key, [4], [6, 3])) as [EventStore, EventStore]
      const parted = (await other.head(0)) as Uint8Array
      await other.append(requestOf(numbered(9, 50_000)))
      await store.receive((await one.chunk(0, 0)) as Uint8Array)
      const late = await chunkAfter(other, 7)
      await unchanged(store, async () =>
        assert.deepEqual(await store.receive(late), { state: 'contradicts', count: 10 }),
      )
      assert.deepEqual(await store.receive(late, { before: parted }), { state: 'forked', count: 10 })
    },
  )
})
