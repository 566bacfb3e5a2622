import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../scripts/crash/random.ts'
import { limits } from '../../src/base/limits.ts'
import { type Block, cidOf, makeBlock } from '../../src/files/unixfs/index.ts'
import * as fc from '../support/property.ts'
import { BlockSwarm, type SwarmNode } from './block-swarm.ts'

/** A file of some leaves, with inner blocks of some links each. Its root is the last block. */
function fileOf(random: Random, leaves: number, width: number, leafBytes = 40): Block[] {
  const blocks: Block[] = []
  const data = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => random.below(256)))
  let level = Array.from({ length: leaves }, () => {
    const content = data(leafBytes)
    return makeBlock({ type: 'file', data: content, size: content.length, blockSizes: [] }, [])
  })
  blocks.push(...level)
  while (level.length > 1) {
    const parents: Block[] = []
    for (let i = 0; i < level.length; i += width) {
      const children = level.slice(i, i + width)
      const blockSizes = children.map(({ bytes }) => bytes.length)
      const size = blockSizes.reduce((sum, bytes) => sum + bytes, 0)
      const links = children.map(({ cid, bytes }) => ({ cid, name: '', size: bytes.length }))
      parents.push(makeBlock({ type: 'file', data: Buffer.of(), size, blockSizes }, links))
    }
    blocks.push(...parents)
    level = parents
  }
  return blocks
}

const rootOf = (file: readonly Block[]): Block => file.at(-1) as Block

function hasAll(node: SwarmNode, files: readonly (readonly Block[])[]): boolean {
  return files.every((file) => file.every(({ cid }) => node.store.has(cid.bytes)))
}

/** Connects all nodes with each other by a random tree, and some of them directly. */
function connectAll(swarm: BlockSwarm): void {
  const { nodes, random } = swarm
  for (const [i, node] of nodes.entries()) {
    if (i > 0) swarm.connect(node, nodes[random.below(i)] as SwarmNode)
    if (random.chance(0.4)) swarm.connect(node, nodes[random.below(nodes.length)] as SwarmNode)
  }
}

/** The bytes of every stored block belong to its CID. */
function assertTrue(nodes: readonly SwarmNode[], files: readonly (readonly Block[])[]): void {
  for (const { store } of nodes)
    for (const { cid } of files.flat()) {
      const bytes = store.get(cid.bytes)
      if (bytes !== undefined) assert.equal(String(cidOf(bytes)), String(cid))
    }
}

const plans = fc.record({
  seed: fc.nat(),
  nodes: fc.integer({ min: 2, max: 5 }),
  files: fc.array(fc.record({ leaves: fc.integer({ min: 1, max: 40 }), width: fc.integer({ min: 2, max: 12 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  lost: fc.double({ min: 0, max: 0.4, noNaN: true }),
  doubled: fc.double({ min: 0, max: 0.3, noNaN: true }),
  delayed: fc.double({ min: 0, max: 0.2, noNaN: true }),
  breaks: fc.array(fc.nat({ max: 60_000 }), { maxLength: 6 }),
})

test('every block that some node has arrives everywhere, whatever is lost, doubled, delayed or interrupted on the way', () => {
  fc.assert(
    fc.property(plans, ({ seed, nodes: count, files: shapes, breaks, ...faults }) => {
      const random = new Random(String(seed))
      const swarm = new BlockSwarm(random, count)
      const { nodes, timeline } = swarm
      swarm.faults = faults
      connectAll(swarm)
      const files = shapes.map(({ leaves, width }) => fileOf(random, leaves, width))
      for (const [lamport, file] of files.entries())
        timeline.after(random.below(30_000), () => {
          nodes[random.below(count)]?.upload(file)
          for (const node of nodes) timeline.after(random.below(5000), () => node.pin(rootOf(file), lamport))
        })
      for (const at of breaks)
        timeline.after(at, () => {
          const [a, b] = [nodes[random.below(count)] as SwarmNode, nodes[random.below(count)] as SwarmNode]
          if (swarm.connection(a, b) === undefined) return
          swarm.disconnect(a, b)
          timeline.after(random.below(20_000), () => swarm.connect(a, b))
        })
      timeline.run(90_000)
      swarm.faults = { lost: 0, doubled: 0, delayed: 0 }
      const isDone = (): boolean => nodes.every((node) => hasAll(node, files))
      assert.ok(timeline.runUntil(isDone, 90_000 + 30 * 60_000), 'all nodes have all blocks')
      assertTrue(nodes, files)
      assert.deepEqual(swarm.closed, [])
    }),
    { numRuns: 60 },
  )
})

test('wrong bytes are never stored, and the node that sends them is disconnected', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 3, max: 5 }), (seed, count) => {
      const random = new Random(String(seed))
      const swarm = new BlockSwarm(random, count)
      const { nodes, timeline } = swarm
      const [liar, ...honest] = nodes as [SwarmNode, ...SwarmNode[]]
      liar.isLiar = true
      const file = fileOf(random, 20, 5)
      liar.upload(file)
      honest[0]?.upload(file)
      for (const [i, node] of honest.entries()) {
        swarm.connect(liar, node)
        const before = honest[i - 1]
        if (before !== undefined) swarm.connect(before, node)
        node.pin(rootOf(file), 1)
      }
      assert.ok(timeline.runUntil(() => honest.every((node) => hasAll(node, [file])), 30 * 60_000))
      assertTrue(nodes, [file])
      assert.ok(
        swarm.closed.every((text) => /^[1-9] closes 0: badBlock$/.test(text)),
        swarm.closed.join(),
      )
    }),
    { numRuns: 50 },
  )
})

test('a common peer carries blocks between two nodes that cannot reach each other, as soon as it has them', () => {
  const swarm = new BlockSwarm(new Random('carried'), 3)
  const [first, middle, last] = swarm.nodes as [SwarmNode, SwarmNode, SwarmNode]
  const file = fileOf(swarm.random, 200, 50)
  first.upload(file)
  swarm.connect(first, middle)
  swarm.connect(middle, last)
  for (const node of swarm.nodes) node.pin(rootOf(file), 1)
  assert.ok(swarm.timeline.runUntil(() => hasAll(last, [file]), 20_000))
  assert.ok(swarm.timeline.now < 5000, `it took ${swarm.timeline.now} ms`)
})

test('blocks are sent about once to each node', () => {
  const swarm = new BlockSwarm(new Random('once'), 5)
  const { nodes } = swarm
  for (const a of nodes) for (const b of nodes) swarm.connect(a, b)
  const file = fileOf(swarm.random, 300, 50, 1000)
  nodes[0]?.upload(file)
  for (const node of nodes) node.pin(rootOf(file), 1)
  assert.ok(swarm.timeline.runUntil(() => nodes.every((node) => hasAll(node, [file])), 60_000))
  const bytes = file.reduce((sum, block) => sum + block.bytes.length, 0)
  assert.ok(swarm.sentBytes <= bytes * 4.05, `${swarm.sentBytes} bytes were sent for ${bytes}`)
})

test('blocks that no node has do not keep a node from fetching others, and its silence is not broken for nothing', () => {
  const swarm = new BlockSwarm(new Random('gone'), 2)
  const [here, there] = swarm.nodes as [SwarmNode, SwarmNode]
  const gone = Array.from({ length: 2 * limits.consideredWants }, (_, i) =>
    makeBlock({ type: 'file', data: Buffer.from(`gone ${i}`), size: 4, blockSizes: [] }, []),
  )
  for (const [i, root] of gone.entries())
    here.store.pin('upload', root.cid.bytes, { kind: 'upload', lamport: 1000 + i })
  const file = fileOf(swarm.random, 10, 5)
  there.upload(file)
  here.pin(rootOf(file), 1)
  swarm.connect(here, there)
  assert.ok(swarm.timeline.runUntil(() => hasAll(here, [file]), 60_000))
  assert.ok(swarm.timeline.now < 10_000, `it took ${swarm.timeline.now} ms`)
  swarm.timeline.run(3_600_000)
  assert.ok(here.exchange.wakeAt > swarm.timeline.now, 'the node sleeps until the next scan')
})

test('while the disk has no room nothing is stored, and fetching goes on when there is room again', () => {
  const swarm = new BlockSwarm(new Random('full'), 2)
  const [here, there] = swarm.nodes as [SwarmNode, SwarmNode]
  const file = fileOf(swarm.random, 100, 20)
  there.upload(file)
  here.hasRoom = false
  here.pin(rootOf(file), 1)
  swarm.connect(here, there)
  swarm.timeline.run(120_000)
  assert.equal(swarm.sentBytes, 0)
  here.hasRoom = true
  assert.ok(swarm.timeline.runUntil(() => here.store.has(rootOf(file).cid.bytes), 121_000 + limits.blockStoreRetryMs))
  here.hasRoom = false
  const before = swarm.sentBytes
  swarm.timeline.run(swarm.timeline.now + 600_000)
  assert.ok(!hasAll(here, [file]))
  assert.ok(swarm.sentBytes - before <= limits.blockRequests * 100, 'only what was on its way is sent in vain')
  here.hasRoom = true
  assert.ok(swarm.timeline.runUntil(() => hasAll(here, [file]), swarm.timeline.now + 60_000))
})
