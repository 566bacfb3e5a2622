import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { format } from '../../src/base/format.ts'
import { BlockStore, openBlocks, Registers, Slots, slotsFile } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

interface Block {
  readonly cid: Buffer
  readonly bytes: Buffer
  readonly links: readonly number[]
}

/** Blocks in which later ones link to earlier ones. */
function blocksOf(links: readonly (readonly number[])[]): Block[] {
  return links.map((below, i) => {
    const bytes = Buffer.from(`block ${i} -> ${below.join()}`.padEnd(20 + i))
    return {
      bytes,
      links: below,
      cid: cidOf(bytes),
    }
  })
}

/** A block that is large enough for a slot. */
function largeBlock(fill: number): Block {
  const bytes = Buffer.alloc(format.fileChunkBytes + 14, fill)
  return { bytes, links: [], cid: cidOf(bytes) }
}

function cidOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(1, 0x70, 0x12, 0x20), hash('sha256', bytes, 'buffer')])
}

function open(t: TestContext, file = join(temporaryFolder(t), 'blocks.db')) {
  const database = openBlocks(file)
  const slots = new Slots(slotsFile(file), database)
  t.after(async () => {
    await slots.close()
    database.close()
  })
  return { database, slots, file }
}

/** A naive reference implementation: finds referenced blocks by walking from every pin. */
class PlainStore {
  readonly here = new Set<number>()
  readonly #pins = new Map<string, Set<number>>()
  readonly #blocks: readonly Block[]

  constructor(blocks: readonly Block[]) {
    this.#blocks = blocks
  }

  pins(owner: string): Set<number> {
    const pins = this.#pins.get(owner) ?? new Set()
    this.#pins.set(owner, pins)
    return pins
  }

  discard(owner: string): void {
    const released = [...this.pins(owner)]
    this.pins(owner).clear()
    this.#removeUnreferenced(released)
  }

  collect(): void {
    this.#removeUnreferenced(this.cached)
  }

  get cached(): number[] {
    const referenced = this.#referenced()
    return [...this.here].filter((i) => !referenced.has(i))
  }

  #removeUnreferenced(numbers: readonly number[]): void {
    for (const i of numbers) if (!this.#referenced().has(i)) this.here.delete(i)
  }

  #referenced(): Set<number> {
    const referenced = new Set<number>()
    const visit = (i: number): void => {
      if (referenced.has(i)) return
      referenced.add(i)
      if (this.here.has(i)) for (const below of this.#blocks[i]?.links ?? []) visit(below)
    }
    for (const pins of this.#pins.values()) for (const pin of pins) visit(pin)
    return referenced
  }
}

interface Step {
  readonly kind: 'put' | 'putPinned' | 'pin' | 'unpin' | 'discard' | 'collect'
  readonly block: number
  readonly owner: string
}

function take({ kind, block, owner }: Step, blocks: readonly Block[], store: BlockStore, plain: PlainStore): void {
  const { cid, bytes, links } = blocks[block] as Block
  const below = links.map((i) => (blocks[i] as Block).cid)
  switch (kind) {
    case 'put':
      store.put(cid, bytes, below)
      plain.here.add(block)
      break
    case 'putPinned':
      store.putPinned(owner, cid, bytes, below)
      plain.here.add(block)
      plain.pins(owner).add(block)
      break
    case 'pin':
      store.pin(owner, cid)
      plain.pins(owner).add(block)
      break
    case 'unpin':
      store.unpin(owner, cid)
      plain.pins(owner).delete(block)
      break
    case 'discard':
      store.discard(owner)
      plain.discard(owner)
      break
    case 'collect':
      while (store.collect({ count: 0, bytes: 0 }));
      plain.collect()
  }
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<Step['kind']>('put', 'put', 'putPinned', 'pin', 'unpin', 'discard', 'collect'),
    block: fc.nat({ max: 7 }),
    owner: fc.constantFrom('a', 'b'),
  }),
  { maxLength: 40 },
)
const shapes = fc.tuple(
  ...Array.from({ length: 8 }, (_, i) =>
    i === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat({ max: i - 1 }), { maxLength: 3 }),
  ),
)

test('in any order of operations, pinned blocks are kept and unreferenced ones are deleted by the next collection', (t) => {
  const { database, slots } = open(t)
  fc.assert(
    fc.property(shapes, steps, (shape, list) => {
      database.exec('BEGIN')
      const blocks = blocksOf(shape)
      const [store, plain] = [new BlockStore(database, slots, () => 1), new PlainStore(blocks)]
      try {
        for (const step of list) {
          take(step, blocks, store, plain)
          for (const [i, { cid, bytes }] of blocks.entries())
            assert.deepEqual(store.get(cid), plain.here.has(i) ? new Uint8Array(bytes) : undefined)
        }
        const { cachedBlocks, cachedBytes } = store.usage()
        assert.equal(cachedBlocks, plain.cached.length)
        assert.equal(
          cachedBytes,
          plain.cached.reduce((sum, i) => sum + (blocks[i]?.bytes.length ?? 0), 0),
        )
      } finally {
        database.exec('ROLLBACK')
        slots.reload()
      }
    }),
    { numRuns: 200 },
  )
})

test('the least recently used blocks are evicted first, and only as many as the limits require', (t) => {
  let now = 0
  const { database, slots } = open(t)
  const store = new BlockStore(database, slots, () => now)
  const blocks = blocksOf([[], [], [], []])
  for (const { cid, bytes } of blocks) {
    now++
    store.put(cid, bytes, [])
  }
  const [first, second, third, fourth] = blocks as [Block, Block, Block, Block]
  now++
  store.get(first.cid)
  assert.equal(store.collect({ count: 2, bytes: 1000 }), false)
  assert.deepEqual(
    [first, second, third, fourth].map(({ cid }) => store.has(cid)),
    [true, false, false, true],
  )
  assert.equal(store.isEvicted(second.cid), true)
  store.put(second.cid, second.bytes, [])
  assert.equal(store.isEvicted(second.cid), false)
  assert.equal(store.collect({ count: 10, bytes: second.bytes.length }), false)
  assert.equal(store.usage().cachedBlocks, 1)
})

test('a block whose bytes do not match its CID is never returned', (t) => {
  const { database, slots, file } = open(t)
  const store = new BlockStore(database, slots, () => 0)
  const [small, large] = [...blocksOf([[]]), largeBlock(1)] as [Block, Block]
  for (const { cid, bytes } of [small, large]) store.put(cid, bytes, [])
  database.exec("UPDATE body SET bytes = x'00'")
  truncateSync(slotsFile(file), 1000)
  for (const { cid } of [small, large]) assert.throws(() => store.get(cid), { name: 'DamagedData' })
})

test('a large block reuses a free slot, but only after the deletion is committed', async (t) => {
  const { database, slots } = open(t)
  const store = new BlockStore(database, slots, () => 0)
  const [first, second, third] = [largeBlock(1), largeBlock(2), largeBlock(3)]
  const commit = async (): Promise<void> => {
    await slots.sync()
    database.exec('COMMIT')
    slots.releaseFreed()
  }
  const slotOf = ({ cid }: Block) => database.prepare('SELECT slot FROM block WHERE cid = ?').get(cid)?.['slot']
  database.exec('BEGIN')
  for (const { cid, bytes } of [first, second]) store.put(cid, bytes, [])
  store.pin('a', second.cid)
  await commit()
  database.exec('BEGIN')
  store.collect({ count: 0, bytes: 0 })
  store.put(third.cid, third.bytes, [])
  assert.equal(slotOf(third), 2)
  database.exec('ROLLBACK')
  slots.reload()
  assert.deepEqual(store.get(first.cid), new Uint8Array(first.bytes))
  database.exec('BEGIN')
  store.collect({ count: 0, bytes: 0 })
  await commit()
  store.put(third.cid, third.bytes, [])
  assert.equal(slotOf(third), 0)
  assert.deepEqual(store.get(second.cid), new Uint8Array(second.bytes))
})

test('gaps between large blocks are closed, and the file is truncated', (t) => {
  const { database, slots, file } = open(t)
  const store = new BlockStore(database, slots, () => 0)
  const blocks = Array.from({ length: 150 }, (_, i) => largeBlock(i))
  const kept = blocks.filter((_, i) => i % 3 === 1)
  database.exec('BEGIN')
  for (const { cid, bytes } of blocks) store.put(cid, bytes, [])
  for (const { cid } of kept) store.pin('a', cid)
  while (store.collect({ count: 0, bytes: 0 }));
  slots.releaseFreed()
  for (let more = true; more; ) {
    more = store.compactSlots()
    slots.releaseFreed()
    slots.truncate()
  }
  database.exec('COMMIT')
  for (const { cid, bytes } of kept) assert.deepEqual(store.get(cid), new Uint8Array(bytes))
  assert.ok(statSync(slotsFile(file)).size < (kept.length + 1) * 270_000)
})

test('a block database of a later format version is refused', (t) => {
  const file = join(temporaryFolder(t), 'blocks.db')
  const opened = openBlocks(file)
  opened.exec('PRAGMA user_version = 99')
  opened.close()
  assert.throws(() => openBlocks(file), { code: 'ERR_INVALID_NODE_STATE', message: /future version 99/ })
})

test('the register with the highest event key wins, in any order of arrival', (t) => {
  const node = (letter: string) => letter.repeat(43)
  const stream = fc.tuple(fc.constantFrom(node('A'), node('B')), fc.constantFrom(2, 10)).map((parts) => parts.join('-'))
  const place = fc.record({ lamport: fc.nat({ max: 3 }), stream })
  const places = fc.uniqueArray(place, { selector: ({ lamport, stream: id }) => `${lamport} ${id}`, minLength: 1 })
  const registers = new Registers(open(t).database)
  let key = 0
  fc.assert(
    fc.property(places, (list) => {
      const name = `name ${key++}`
      for (const { lamport, stream: id } of list)
        registers.set('name', name, { key: { lamport, stream: id } }, `${lamport} ${id}`)
      const order = ({ lamport, stream: id }: { lamport: number; stream: string }) =>
        `${lamport} ${id.split('-')[0]} ${id.split('-')[1]?.padStart(3, '0')}`
      const last = list.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).at(-1)
      assert.equal(registers.get('name', name), `${last?.lamport} ${last?.stream}`)
    }),
    { numRuns: 50 },
  )
})

test('a database that another connection has locked for a moment is opened', async (t) => {
  const file = join(temporaryFolder(t), 'blocks.db')
  const database = openBlocks(file)
  database.exec('PRAGMA journal_mode = DELETE')
  database.close()
  // As a connection does that changes the journal. Only another thread can release the lock while this one waits.
  const lock = `
    const { parentPort, workerData } = require('node:worker_threads')
    const { DatabaseSync } = require('node:sqlite')
    const database = new DatabaseSync(workerData)
    database.exec('BEGIN EXCLUSIVE')
    parentPort.postMessage('locked')
    setTimeout(() => database.close(), 100)`
  const worker = new Worker(lock, { eval: true, workerData: file })
  await once(worker, 'message')
  openBlocks(file, { readOnly: true }).close()
  await once(worker, 'exit')
})
