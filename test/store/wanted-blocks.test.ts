import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { encode } from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { create } from 'multiformats/hashes/digest'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { type Block, cidOf, makeBlock } from '../../src/files/unixfs/index.ts'
import { BlockStore, DiskReserve, openBlocks, Slots, slotsFile, verifyBlocks } from '../../src/store/index.ts'
import { MemoryBlockStore } from '../../src/store/memory/memory-block-store.ts'
import type { BlockFetching, PinReason } from '../../src/store/port/index.ts'
import { nodeId } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

function open(t: TestContext, file = join(temporaryFolder(t), 'blocks.db')) {
  const database = openBlocks(file)
  const slots = new Slots(slotsFile(file), database)
  const store = new BlockStore(database, slots, () => 1)
  t.after(async () => {
    await slots.close()
    database.close()
  })
  return { database, slots, store, file }
}

function leaf(text: string): Block {
  const data = Buffer.from(text)
  return makeBlock({ type: 'file', data, size: data.length, blockSizes: [] }, [])
}

function parent(...children: readonly Block[]): Block {
  const blockSizes = children.map(({ bytes }) => bytes.length)
  const size = blockSizes.reduce((sum, bytes) => sum + bytes, 0)
  const links = children.map(({ cid, bytes }) => ({ cid, name: '', size: bytes.length }))
  return makeBlock({ type: 'file', data: Buffer.of(), size, blockSizes }, links)
}

const cidsOf = (store: BlockFetching): string[] => store.wanted(100).map(({ cid }) => String(CID.decode(cid)))
const texts = (...blocks: readonly Block[]): string[] => blocks.map(({ cid }) => String(cid))
const receive = (store: BlockFetching, { cid, bytes }: Block, isAsked = false) =>
  store.receive(cid.bytes, bytes, isAsked)

test('missing blocks are wanted: named content first, then the newest upload', (t) => {
  const { store } = open(t)
  const [old, recent, named, queried] = [leaf('old'), leaf('new'), leaf('named'), leaf('queried')] as const
  store.pin('query app', queried.cid.bytes)
  store.pin('upload', old.cid.bytes, { kind: 'upload', lamport: 1 })
  store.pin('upload', recent.cid.bytes, { kind: 'upload', lamport: 9 })
  store.pin('name a', named.cid.bytes, { kind: 'name', lamport: 3 })
  assert.deepEqual(cidsOf(store), texts(named, recent, old, queried))
  store.pin('name b', old.cid.bytes, { kind: 'name', lamport: 4 })
  assert.deepEqual(cidsOf(store), texts(old, named, recent, queried))
})

test('a received block is stored, and the blocks that it links to take its place in the order', (t) => {
  const { store } = open(t)
  const [first, second, later] = [leaf('first'), leaf('second'), leaf('later')] as const
  const root = parent(first, second)
  store.pin('upload', later.cid.bytes, { kind: 'upload', lamport: 1 })
  store.pin('upload', root.cid.bytes, { kind: 'upload', lamport: 2 })
  assert.equal(store.takeNewWants(), true)
  assert.equal(store.takeNewWants(), false)
  const { outcome, newWants } = receive(store, root)
  assert.equal(outcome, 'stored')
  assert.deepEqual(
    newWants.map((cid) => String(CID.decode(cid))),
    texts(first, second),
  )
  assert.equal(store.takeNewWants(), true)
  assert.deepEqual(cidsOf(store), texts(first, second, later))
  assert.deepEqual(receive(store, first), { outcome: 'stored', newWants: [] })
  assert.deepEqual(store.get(first.cid.bytes), first.bytes)
  assert.deepEqual(cidsOf(store), texts(second, later))
})

test('naming content that is on its way moves its missing blocks to the front', (t) => {
  const { store } = open(t)
  const [a, b, other] = [leaf('a'), leaf('b'), leaf('other')] as const
  const root = parent(a, b)
  store.pin('upload', root.cid.bytes, { kind: 'upload', lamport: 1 })
  receive(store, root)
  receive(store, a)
  store.pin('upload', other.cid.bytes, { kind: 'upload', lamport: 2 })
  assert.deepEqual(cidsOf(store), texts(other, b))
  store.pin('name', root.cid.bytes, { kind: 'name', lamport: 3 })
  assert.deepEqual(cidsOf(store), texts(b, other))
})

test('the list of wanted blocks is bounded, and continues where the last one ended', (t) => {
  const { store } = open(t)
  const blocks = Array.from({ length: 25 }, (_, i) => leaf(`block ${i}`))
  for (const [i, { cid }] of blocks.entries())
    store.pin('upload', cid.bytes, { kind: 'upload', lamport: Math.floor(i / 5) })
  const listed: Uint8Array[] = []
  for (let after = store.wanted(7); after.length > 0; after = store.wanted(7, after.at(-1)?.place)) {
    assert.ok(after.length <= 7)
    listed.push(...after.map(({ cid }) => cid))
  }
  assert.deepEqual(
    listed.map((cid) => String(CID.decode(cid))),
    cidsOf(store),
  )
  assert.equal(new Set(cidsOf(store)).size, 25)
})

test('a block that nothing references is stored only for a download', (t) => {
  const { store } = open(t)
  const block = leaf('cached')
  assert.deepEqual(receive(store, block), { outcome: 'unwanted', newWants: [] })
  assert.equal(store.has(block.cid.bytes), false)
  assert.deepEqual(receive(store, block, true), { outcome: 'stored', newWants: [] })
  assert.equal(store.has(block.cid.bytes), true)
  assert.equal(store.usage().cachedBlocks, 1)
})

test('an evicted block is wanted again only when something references it', (t) => {
  const { store } = open(t)
  const [below, unrelated] = [leaf('below'), leaf('unrelated')] as const
  const root = parent(below)
  receive(store, root, true)
  receive(store, below, true)
  while (store.collect({ count: 0, bytes: 0 }));
  store.pin('upload', unrelated.cid.bytes, { kind: 'upload', lamport: 1 })
  assert.equal(store.isEvicted(root.cid.bytes), true)
  assert.deepEqual(cidsOf(store), texts(unrelated))
  assert.equal(receive(store, root).outcome, 'unwanted')
  store.pin('upload', root.cid.bytes, { kind: 'upload', lamport: 2 })
  assert.equal(store.isEvicted(root.cid.bytes), false)
  assert.deepEqual(cidsOf(store), texts(root, unrelated))
  receive(store, root)
  assert.deepEqual(cidsOf(store), texts(below, unrelated))
})

test('a block that is unpinned while it is on its way is not wanted any more', (t) => {
  const { store } = open(t)
  const child = leaf('child')
  const root = parent(child)
  store.pin('upload', root.cid.bytes, { kind: 'upload', lamport: 1 })
  receive(store, root)
  store.unpin('upload', root.cid.bytes)
  assert.deepEqual(cidsOf(store), [])
  assert.equal(receive(store, child).outcome, 'unwanted')
})

test('bytes that do not belong to the CID, and blocks that are too large, are never stored', (t) => {
  const { store } = open(t)
  const stores = [store, new MemoryBlockStore()]
  const block = leaf('content')
  const large = Buffer.alloc(format.fileBlockBytes + 1)
  const sha512 = CID.createV1(0x70, create(0x13, Buffer.alloc(64, 1)))
  const raw = CID.createV1(0x55, block.cid.multihash)
  const largest = Buffer.alloc(format.fileBlockBytes, 7)
  for (const each of stores) {
    for (const cid of [block.cid, cidOf(large), cidOf(largest), sha512, raw]) each.pin('upload', cid.bytes)
    const wrong = (cid: Uint8Array, bytes: Uint8Array): void =>
      assert.deepEqual(each.receive(cid, bytes, true), { outcome: 'wrong', newWants: [] })
    wrong(block.cid.bytes, Buffer.concat([block.bytes, Buffer.of(0)]))
    wrong(block.cid.bytes, block.bytes.subarray(1))
    wrong(block.cid.bytes, Buffer.of())
    wrong(cidOf(large).bytes, large)
    wrong(sha512.bytes, block.bytes)
    wrong(raw.bytes, block.bytes)
    wrong(Buffer.concat([block.cid.bytes, Buffer.of(0)]), block.bytes)
    wrong(block.cid.bytes.subarray(4), block.bytes)
    wrong(Buffer.of(), Buffer.of())
    assert.equal(each.has(block.cid.bytes), false)
    assert.equal(each.receive(cidOf(largest).bytes, largest, false).outcome, 'stored')
  }
})

test('bytes that belong to the CID and are no block with links are stored without links', (t) => {
  const { store } = open(t)
  for (const bytes of [Buffer.from('not dag-pb'), Buffer.of(), Buffer.of(0x12, 0xff)]) {
    const cid = cidOf(bytes).bytes
    store.pin('upload', cid)
    assert.deepEqual(store.receive(cid, bytes, false), { outcome: 'stored', newWants: [] })
  }
  assert.deepEqual(cidsOf(store), [])
})

test('links to blocks that cannot be stored are not wanted', (t) => {
  const { store } = open(t)
  const here = leaf('here')
  const raw = CID.createV1(0x55, here.cid.multihash)
  const old = CID.create(0, 0x70, leaf('old').cid.multihash)
  const bytes = encode({ Links: [raw, here.cid, old].map((Hash) => ({ Hash, Name: '', Tsize: 1 })) })
  store.pin('upload', cidOf(bytes).bytes)
  store.receive(cidOf(bytes).bytes, bytes, false)
  assert.deepEqual(cidsOf(store).sort(), [String(here.cid), String(old.toV1())].sort())
})

test('a block with many links reports a bounded number of wanted blocks, and all are wanted', (t) => {
  const { store } = open(t)
  const children = Array.from({ length: limits.wantsPerList + 50 }, (_, i) => leaf(`child ${i}`))
  const root = parent(...children)
  store.pin('upload', root.cid.bytes)
  assert.equal(receive(store, root).newWants.length, limits.wantsPerList)
  assert.equal(store.wanted(1000).length, children.length)
})

interface Step {
  readonly kind: 'pin' | 'unpin' | 'receive' | 'ask'
  readonly block: number
  readonly owner: string
  readonly reason: PinReason | undefined
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom<Step['kind']>('pin', 'pin', 'unpin', 'receive', 'receive', 'receive', 'ask'),
    block: fc.nat({ max: 9 }),
    owner: fc.constantFrom('a', 'b'),
    reason: fc.option(
      fc.record({ kind: fc.constantFrom('name' as const, 'upload' as const), lamport: fc.nat({ max: 3 }) }),
      { nil: undefined },
    ),
  }),
  { maxLength: 40 },
)
const shapes = fc.tuple(
  ...Array.from({ length: 10 }, (_, i) =>
    i === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat({ max: i - 1 }), { maxLength: 4 }),
  ),
)

test('the stores in SQLite and in memory want the same blocks in the same order, whatever happens', (t) => {
  const { database, slots } = open(t)
  fc.assert(
    fc.property(shapes, steps, (shape, list) => {
      const blocks: Block[] = []
      for (const [i, links] of shape.entries())
        blocks.push(links.length === 0 ? leaf(`leaf ${i}`) : parent(...links.map((link) => blocks[link] as Block)))
      database.exec('BEGIN')
      try {
        const stores = [new BlockStore(database, slots, () => 1), new MemoryBlockStore()] as const
        for (const { kind, block: number, owner, reason } of list) {
          const block = blocks[number] as Block
          const [outcome, expected] = stores.map((store) => {
            if (kind === 'pin') store.pin(owner, block.cid.bytes, reason)
            else if (kind === 'unpin') store.unpin(owner, block.cid.bytes)
            else {
              const received = receive(store, block, kind === 'ask')
              return [received.outcome, new Set(received.newWants.map((cid) => Buffer.from(cid).toString('hex')))]
            }
            return undefined
          })
          assert.deepEqual(outcome, expected)
          const [found, right] = stores.map((store) => store.wanted(100))
          assert.deepEqual(ranked(found ?? []), ranked(right ?? []))
        }
      } finally {
        database.exec('ROLLBACK')
        slots.reload()
      }
    }),
    { numRuns: 300 },
  )
})

/** Wanted blocks with their ranks; those of the same rank are sorted by CID, because numbers of blocks differ. */
function ranked(list: ReturnType<BlockFetching['wanted']>): string[] {
  const rows = list.map(({ cid, place }) => ({ ...place, cid: Buffer.from(cid).toString('hex') }))
  for (const [i, row] of rows.entries()) {
    const before = rows[i - 1]
    assert.ok(before === undefined || before.class < row.class || (before.class === row.class && before.age <= row.age))
  }
  return rows.map((row) => `${row.class} ${row.age} ${row.cid}`).sort()
}

test('missing blocks of a store of an earlier version are wanted', async (t) => {
  const file = join(temporaryFolder(t), 'blocks.db')
  const block = leaf('missing')
  const database = openBlocks(file)
  const slots = new Slots(slotsFile(file), database)
  new BlockStore(database, slots, () => 1).pin('upload', block.cid.bytes, { kind: 'upload', lamport: 5 })
  database.exec('DROP TABLE want; PRAGMA user_version = 2')
  await slots.close()
  database.close()
  const { store } = open(t, file)
  assert.deepEqual(cidsOf(store), texts(block))
  assert.equal(receive(store, block).outcome, 'stored')
})

test('verification reports a list of wanted blocks that differs from the missing ones', (t) => {
  const { store, database, file } = open(t)
  const [one, two] = [leaf('one'), leaf('two')] as const
  for (const { cid } of [one, two]) store.pin('upload', cid.bytes)
  assert.deepEqual(verifyBlocks(file, nodeId).problems, [])
  database.exec('DELETE FROM want WHERE block = 1; INSERT INTO want VALUES (99, 0, 0)')
  assert.deepEqual(verifyBlocks(file, nodeId).problems, [
    '2 blocks are missing and not listed so, or listed and not missing',
  ])
})

test('the disk reserve is reached below its size, and left with a quarter more', () => {
  const mebibyte = 1024 * 1024
  let free = 1024 * mebibyte
  const large = new DiskReserve(() => ({ free, total: 1000 * 1024 * mebibyte }))
  assert.equal(large.check(), undefined)
  free -= 1
  assert.equal(large.check(), '1023 MiB of disk space are free, 1024 MiB are reserved')
  free = 1279 * mebibyte
  assert.notEqual(large.check(), undefined)
  free = 1280 * mebibyte
  assert.equal(large.check(), undefined)
  free = 1024 * mebibyte
  assert.equal(large.check(), undefined)
  const small = new DiskReserve(() => ({ free, total: 2000 * mebibyte }))
  free = 100 * mebibyte
  assert.equal(small.check(), undefined)
  free = 99 * mebibyte
  assert.equal(small.check(), '99 MiB of disk space are free, 100 MiB are reserved')
})
