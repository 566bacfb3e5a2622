import assert from 'node:assert/strict'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import { isMalformed, range, requestOf, rules } from './support.ts'

function chunkOf(number = 0, key = KeyPair.generate(systemRandom)): Buffer {
  return new ForgedStream(key, 'a-topic', number).chunk([{ lamport: 1 }])
}

/** Which streams of other nodes are added. */
export const limitingStreams = rules(({ small }) => {
  small('a chunk that arrives before the first one of its stream adds no stream', async (t, open) => {
    const store = await open(t)
    const forged = new ForgedStream()
    const [first, second] = [forged.chunk([{ lamport: 1 }]), forged.chunk([{ lamport: 2 }])]
    assert.deepEqual(await store.receive(second), { state: 'gap', count: 0 })
    assert.deepEqual(await store.streams(), [])
    assert.deepEqual(await store.receive(first), { state: 'stored', count: 1 })
    assert.deepEqual(await store.receive(second), { state: 'stored', count: 2 })
  })

  small('a bad chunk adds no stream', async (t, open) => {
    const store = await open(t)
    const key = KeyPair.generate(systemRandom)
    const bytes = chunkOf(0, key)
    bytes[bytes.length - 3] = (bytes[bytes.length - 3] as number) ^ 1
    await assert.rejects(store.receive(bytes), isMalformed)
    assert.deepEqual(await store.streams(), [])
    assert.deepEqual(await store.receive(chunkOf(0, key)), { state: 'stored', count: 1 })
  })

  small('a stream whose number is beyond the maximum of a node is refused', async (t, open) => {
    const store = await open(t)
    const refusal = { state: 'refused', count: 0, limit: 'streamsPerNode' }
    assert.deepEqual(await store.receive(chunkOf(format.streamsPerNode)), refusal)
    assert.deepEqual(await store.receive(chunkOf(2 ** 40)), refusal)
    assert.deepEqual(await store.streams(), [])
    assert.deepEqual(await store.receive(chunkOf(format.streamsPerNode - 1)), { state: 'stored', count: 1 })
    await assert.rejects(store.append(requestOf([{ stream: format.streamsPerNode }])), /at most 256 streams/)
    await store.append(requestOf([{ stream: format.streamsPerNode - 1 }]))
  })

  small('a peer cannot introduce any number of nodes, and others still can', async (t, open) => {
    const store = await open(t)
    const forged = new ForgedStream()
    await store.receive(forged.chunk([{ lamport: 1 }]), { from: 'a' })
    for (const _ of range(1, limits.nodesPerPeer))
      assert.equal((await store.receive(chunkOf(), { from: 'a' })).state, 'stored')
    const next = chunkOf()
    const refusal = { state: 'refused', count: 0, limit: 'nodesPerPeer' }
    assert.deepEqual(await store.receive(next, { from: 'a' }), refusal)
    assert.equal((await store.streams()).length, limits.nodesPerPeer)
    assert.deepEqual(await store.receive(forged.chunk([{ lamport: 2 }]), { from: 'a' }), { state: 'stored', count: 2 })
    assert.deepEqual(await store.receive(next, { from: 'b' }), { state: 'stored', count: 1 })
    await store.append(requestOf([{}]))
    const [source, pruned] = [memoryStore(), memoryStore()]
    await source.append(requestOf([{}]))
    const known = memoryStore()
    await known.append(requestOf([{}]))
    await store.receive((await known.chunk(0, 0)) as Uint8Array, { from: 'b' })
    const redactions = [await source.redact(0, [0]), await known.redact(0, [0])]
    const states = (await store.applyRedactions(redactions, { from: 'a' })).map(({ state }) => state)
    assert.deepEqual(states, ['refused', 'applied'])
    await pruned.append(requestOf(range(0, 3).map(() => ({}))))
    const prune = await pruned.prune(0, 3)
    const head = (await pruned.checkpoints(0))[0]?.head as Uint8Array
    await assert.rejects(store.applyPrune(prune, head, { from: 'a' }), /introduces at most/)
    await store.applyPrune(prune, head, { from: 'b' })
  })
})
