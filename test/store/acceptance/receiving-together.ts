import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import type { GivenChunk } from '../../../src/store/port/index.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import { chunksOf, endOf, numbered, range, refused, requestOf, rules, textOf, unchanged } from './support.ts'

function given(chunks: readonly Uint8Array[]): GivenChunk[] {
  return chunks.map((bytes) => ({ bytes }))
}

/** Receiving several chunks in one call. */
export const receivingTogether = rules(({ small, large }) => {
  large('chunks that are received together are stored like those that come one by one', async (t, open) => {
    const [together, apart] = [await open(t), await open(t)]
    const chunks: Uint8Array[] = []
    for (const events of [2500, 1030]) {
      const source = memoryStore()
      await source.append(requestOf(numbered(events)))
      chunks.push(...(await chunksOf(source)))
    }
    const { answers, rows } = await together.receiveAll(given(chunks))
    const expected = []
    for (const chunk of chunks) expected.push(await apart.receive(chunk))
    assert.deepEqual(answers, expected)
    assert.deepEqual(
      answers.map(({ state }) => state),
      chunks.map(() => 'stored'),
    )
    assert.equal(await textOf(together), await textOf(apart))
    assert.deepEqual(rows, await together.heads())
  })

  small('each chunk gets its own answer, and a malformed one does not affect the others', async (t, open) => {
    const store = await open(t)
    const [a, b] = [new ForgedStream(), new ForgedStream()]
    const [a1, a2, a3, a4] = range(1, 5).map((lamport) => a.chunk([{ lamport }])) as [Buffer, Buffer, Buffer, Buffer]
    const b1 = b.chunk([{ lamport: 1 }])
    const unsigned = Buffer.from(a2)
    unsigned[unsigned.indexOf('shoal/head') + 20] = 0
    const { answers, rows } = await store.receiveAll([
      { bytes: a1 },
      { bytes: a1 },
      { bytes: unsigned },
      { bytes: Buffer.from('no chunk') },
      { bytes: a4 },
      { bytes: a4, before: endOf(a3) },
      { bytes: b1 },
      { bytes: a2 },
      { bytes: a3, before: endOf(a2) },
    ])
    assert.deepEqual(
      answers.map(({ state }) => state),
      ['stored', 'known', 'malformed', 'malformed', 'gap', 'waiting', 'stored', 'stored', 'stored'],
    )
    assert.deepEqual(answers.at(-1), { state: 'stored', count: 4 })
    assert.match((answers[3] as { reason: string }).reason, /not a chunk|end of bytes/)
    assert.deepEqual(
      (await store.streams()).map(({ count }) => count),
      [4, 1],
    )
    assert.deepEqual(rows, await store.heads())
  })

  small('a head before a chunk that is of another place is refused with its chunk', async (t, open) => {
    const store = await open(t)
    const stream = new ForgedStream()
    const [first, second, third] = range(1, 4).map((lamport) => stream.chunk([{ lamport }])) as [Buffer, Buffer, Buffer]
    await store.receive(first)
    const { answers } = await store.receiveAll([
      { bytes: second, before: endOf(third) },
      { bytes: second, before: Buffer.from('no head') },
    ])
    assert.deepEqual(
      answers.map(({ state }) => state),
      ['malformed', 'malformed'],
    )
    assert.deepEqual(await store.receive(second, { before: endOf(first) }), { state: 'stored', count: 2 })
  })

  small('new streams that are received together are charged to their peer', async (t, open) => {
    const store = await open(t)
    const chunks = range(0, limits.nodesPerPeer + 1).map(() => new ForgedStream().chunk([{ lamport: 1 }]))
    const states: string[] = []
    for (let i = 0; i < chunks.length; i += limits.receivedChunks) {
      const { answers } = await store.receiveAll(given(chunks.slice(i, i + limits.receivedChunks)), { from: 'a' })
      states.push(...answers.map(({ state }) => state))
    }
    assert.deepEqual(states, [...chunks.slice(1).map(() => 'stored'), 'refused'])
  })

  small('too many chunks at once are refused, and none is an empty answer', async (t, open) => {
    const store = await open(t)
    const stream = new ForgedStream()
    const chunks = range(0, limits.receivedChunks + 1).map((lamport) => stream.chunk([{ lamport }]))
    await unchanged(store, async () => {
      await assert.rejects(store.receiveAll(given(chunks)), refused)
      await assert.rejects(store.receiveAll(given([Buffer.alloc(limits.receivedBytes + 1)])), refused)
      assert.deepEqual(await store.receiveAll([]), { answers: [], rows: [] })
    })
    const { answers } = await store.receiveAll(given(chunks.slice(0, -1)))
    assert.deepEqual(answers.at(-1), { state: 'stored', count: limits.receivedChunks })
  })
})
