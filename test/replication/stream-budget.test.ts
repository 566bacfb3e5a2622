import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import type { PublicKey } from '../../src/identity/index.ts'
import { StreamBudget, type StreamLimit } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'

/** A stream of a made-up node. */
function streamOf(node: number, number = 0) {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(node)
  return { node: new Uint8Array(bytes) as PublicKey, number, own: false }
}

const own = (number: number) => ({ ...streamOf(2 ** 32 - 1, number), own: true })

/** Adds streams until one is refused. Returns how many were added, and the limit. */
function fill(
  budget: StreamBudget,
  streams: Iterable<ReturnType<typeof streamOf>>,
  { from, slots = 0 }: { from?: string; slots?: number } = {},
): [number, StreamLimit | undefined] {
  let added = 0
  for (const stream of streams) {
    const limit = budget.limitOf(stream, slots + added, from)
    if (limit !== undefined) return [added, limit]
    budget.add(stream, from)
    added++
  }
  return [added, undefined]
}

function* nodes(start = 0): Generator<ReturnType<typeof streamOf>> {
  for (let node = start; ; node++) yield streamOf(node)
}

function* streamsOfNodes(start = 0): Generator<ReturnType<typeof streamOf>> {
  for (let i = 0; ; i++) yield streamOf(start + Math.floor(i / format.streamsPerNode), i % format.streamsPerNode)
}

test('a peer introduces a limited number of nodes, and others still introduce theirs', () => {
  const budget = new StreamBudget()
  assert.deepEqual(fill(budget, nodes(), { from: 'a' }), [limits.nodesPerPeer, 'nodesPerPeer'])
  assert.equal(budget.limitOf(streamOf(0, 1), 256, 'a'), undefined, 'a known node may have further streams')
  assert.equal(budget.limitOf(streamOf(1000), 256, 'b'), undefined)
  assert.equal(budget.limitOf(streamOf(1000), 256), undefined)
})

test('a peer introduces a limited number of streams, however few nodes they are of', () => {
  const budget = new StreamBudget()
  assert.deepEqual(fill(budget, streamsOfNodes(), { from: 'a' }), [limits.streamsPerPeer, 'streamsPerPeer'])
  assert.equal(budget.limitOf(streamOf(1000), limits.streamsPerPeer, 'b'), undefined)
})

test('the number of other nodes is limited, whoever introduces them', () => {
  const budget = new StreamBudget()
  assert.deepEqual(fill(budget, nodes()), [limits.otherNodes, 'otherNodes'])
  const spread = new StreamBudget()
  let added = 0
  for (const stream of nodes()) {
    const limit = spread.limitOf(stream, added, `peer ${added % 100}`)
    if (limit !== undefined) {
      assert.equal(limit, 'otherNodes')
      break
    }
    spread.add(stream, `peer ${added++ % 100}`)
  }
  assert.equal(added, limits.otherNodes)
})

test('own streams have slots, however many streams other nodes have', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: format.streamsPerNode }), (before) => {
      const budget = new StreamBudget()
      for (let number = 0; number < before; number++) budget.add(own(number))
      const [others, limit] = fill(budget, streamsOfNodes(), { slots: before })
      assert.deepEqual([others, limit], [format.streamsPerTopic - format.streamsPerNode, 'streamsPerTopic'])
      for (let number = before, slots = before + others; number < format.streamsPerNode; number++, slots++) {
        assert.equal(budget.limitOf(own(number), slots), undefined)
        budget.add(own(number))
      }
      assert.equal(budget.limitOf(own(0), format.streamsPerTopic), 'streamsPerTopic')
    }),
    { numRuns: 4 },
  )
})

test('the number of a stream is below the maximum per node', () => {
  const budget = new StreamBudget()
  for (const number of [format.streamsPerNode, 2 ** 40]) {
    assert.equal(budget.limitOf(streamOf(1, number), 0), 'streamsPerNode')
    assert.equal(budget.limitOf(own(number), 0), 'streamsPerNode')
  }
  assert.equal(budget.limitOf(streamOf(1, format.streamsPerNode - 1), 0), undefined)
})

test('streams that are forgotten return their part of the budget', () => {
  const place = fc.record({ node: fc.nat(20), number: fc.nat(3), from: fc.constantFrom(undefined, 'a', 'b') })
  fc.assert(
    fc.property(fc.array(place, { maxLength: 60 }), (places) => {
      const budget = new StreamBudget()
      const unique = [...new Map(places.map((one) => [`${one.node}-${one.number}`, one])).values()]
      for (const { node, number, from } of unique) budget.add(streamOf(node, number), from)
      for (const { node, number, from } of unique) budget.remove(streamOf(node, number), from)
      assert.deepEqual(fill(budget, nodes(), { from: 'a' }), [limits.nodesPerPeer, 'nodesPerPeer'])
      assert.deepEqual(fill(budget, nodes(1000), { from: 'b' }), [limits.nodesPerPeer, 'nodesPerPeer'])
    }),
    { numRuns: 20 },
  )
})
