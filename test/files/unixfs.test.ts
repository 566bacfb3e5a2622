import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import {
  type Block,
  FileBuilder,
  type FolderFile,
  makeBlock,
  parseCid,
  readBlock,
  storeFolder,
} from '../../src/files/unixfs/index.ts'
import { ChunkMemory, makeLeaf } from '../../src/files/unixfs/leaf.ts'
import * as fc from '../support/property.ts'

const nowhere = (): void => {}

function cidOfFile(content: Uint8Array, store: (block: Block) => void = nowhere): FolderFile {
  const builder = new FileBuilder(store)
  for (let at = 0; at < content.length; at += format.fileChunkBytes)
    builder.add(content.subarray(at, at + format.fileChunkBytes))
  return { path: [], ...builder.finish() }
}

function folderOf(files: Readonly<Record<string, string>>): { cid: string; size: number; blocks: Map<string, Block> } {
  const blocks = new Map<string, Block>()
  const stored = Object.entries(files).map(([path, text]) => ({
    ...cidOfFile(Buffer.from(text)),
    path: path.split('/'),
  }))
  const { cid, size } = storeFolder(stored, (block) => blocks.set(String(block.cid), block))
  return { cid: String(cid), size, blocks }
}

const page = '<html>hi</html>\n'

test('CIDs of files are those of the reference system', () => {
  const known: [string | Uint8Array, string][] = [
    ['', 'bafybeif7ztnhq65lumvvtr4ekcwd2ifwgm3awq4zfr3srh462rwyinlb4y'],
    ['42\n', 'bafybeiauqcttc3r6btrkpsemuf3rr5rd6polk2k4uqrf5hiku5cutp3dl4'],
    ['{"a":1}', 'bafybeiaviujuxqkkrdn55hizozn6iprfbjzatduuindxfamqbbozdwjrji'],
    [Buffer.alloc(700_000), 'bafybeigrpncecxicgaae6m44ug2x3y7tchw7t3pqtgnxxmp4axggqwkgmy'],
  ]
  for (const [content, cid] of known) assert.equal(String(cidOfFile(Buffer.from(content)).cid), cid)
})

test('a CID of version 0 refers to the same block', () => {
  const cid = parseCid('QmRgutAxd8t7oGkSm4wmeuByG6M51wcTso6cubDdQtuEfL')
  assert.equal(String(cid), String(cidOfFile(Buffer.from('foobar\n')).cid))
})

test('CIDs and sizes of directories are those of the reference system', () => {
  const two = folderOf({ 'folder/my-filename': '42\n', 'folder/my-filename2': '42\n' })
  assert.equal(two.cid, 'bafybeih3rdoefyjmhg2wcu34njtwjc6kz44voehswqpr2dnplqjiv3opzi')
  const [child] = two.blocks.get(two.cid)?.links ?? []
  assert.deepEqual(
    { ...child, cid: String(child?.cid) },
    { name: 'folder', size: 121, cid: 'bafybeidzcta4duz77hvyyikfd7fjhwls6pebx766hderwkgk73nwktbgaa' },
  )
  const site = folderOf({ 'index.html': page, 's.css': 'body{}' })
  assert.equal(site.cid, 'bafybeiczs2knqj54uvbtp7i52xcvaa3jhhkccltush2nwnshpqozodenpa')
  assert.equal(site.size, 129)
  const deep = folderOf({ 'dir/sub/a.txt': '42\n', 'dir/index.html': page, 's.css': 'body{}' })
  assert.equal(deep.cid, 'bafybeicggnxf7vtx4pbwu2xg2jzd2guffmcpder7bfmhbxvzabg24jojyi')
  const sizes = [...deep.blocks.values()].flatMap(({ links }) => links).map(({ name, size }) => [name, size])
  assert.deepEqual(Object.fromEntries(sizes), { 'a.txt': 3, sub: 56, 'index.html': 16, dir: 177, 's.css': 6 })
})

test('a file with more leaves than links per block has a third level with correct sizes', () => {
  const blocks = new Map<string, Block>()
  const builder = new FileBuilder((block) => blocks.set(String(block.cid), block))
  for (let i = 0; i < format.linksPerBlock + 1; i++) builder.add(Buffer.from([i, 7]))
  const { cid, size } = builder.finish()
  assert.equal(size, 2 * (format.linksPerBlock + 1))
  const { data, links } = readBlock(blocks.get(String(cid))?.bytes ?? Buffer.alloc(0))
  assert.deepEqual(data, { type: 'file', data: new Uint8Array(0), size, blockSizes: [2 * format.linksPerBlock, 2] })
  const [full, rest] = links.map((link) => readBlock(blocks.get(String(link.cid))?.bytes ?? Buffer.alloc(0)))
  assert.equal(full?.links.length, format.linksPerBlock)
  assert.equal(rest?.links.length, 1)
})

test('makeLeaf and makeBlock encode a leaf identically', () => {
  const chunk = new ChunkMemory().chunk(1)
  fc.assert(
    fc.property(fc.constantFrom(0, 1, 127, 128, 5000, format.fileChunkBytes), fc.nat({ max: 255 }), (size, fill) => {
      const data = new Uint8Array(size).fill(fill)
      chunk.set(data)
      const leaf = makeLeaf(chunk, size)
      const block = makeBlock({ type: 'file', data, size, blockSizes: [] }, [])
      assert.deepEqual(Buffer.from(leaf.bytes), Buffer.from(block.bytes))
      assert.deepEqual(leaf.cid, block.cid)
    }),
  )
})

test('directory entries are sorted by the bytes of their names', () => {
  const { cid, blocks } = folderOf({ '\u{10000}': 'a', '\uffff': 'b', a: 'c', Z: 'd' })
  assert.deepEqual(
    blocks.get(cid)?.links.map(({ name }) => name),
    ['Z', 'a', '\uffff', '\u{10000}'],
  )
})

test('a directory with too many entries is refused', () => {
  const files = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i} ${'long'.repeat(700)}`, 'x']))
  assert.throws(() => folderOf(files), { code: 'ERR_BAD_REQUEST' })
})

test('an encoded block is decoded to the same data', () => {
  const data = fc.record({ size: fc.nat({ max: 1000 }), count: fc.nat({ max: 5 }) })
  fc.assert(
    fc.property(data, ({ size, count }) => {
      const child = cidOfFile(Buffer.from('x')).cid
      const content = Buffer.alloc(count === 0 ? size : 0, 7)
      const blockSizes = Array<number>(count).fill(size)
      const written = {
        type: 'file',
        data: new Uint8Array(content),
        size: content.length + count * size,
        blockSizes,
      } as const
      const links = blockSizes.map(() => ({ cid: child, name: '', size: 9 }))
      const { data: read, links: readLinks } = readBlock(makeBlock(written, links).bytes)
      assert.deepEqual(read, written)
      assert.equal(readLinks.length, count)
    }),
  )
})

test('decoding a damaged block throws nothing but MalformedUnixFs', () => {
  const block = Buffer.from(makeBlock({ type: 'file', data: Buffer.from('hello'), size: 5, blockSizes: [] }, []).bytes)
  const change = fc.record({ at: fc.nat({ max: block.length - 1 }), byte: fc.nat({ max: 255 }), cut: fc.boolean() })
  fc.assert(
    fc.property(change, ({ at, byte, cut }) => {
      const damaged = Buffer.from(cut ? block.subarray(0, at) : block)
      if (!cut) damaged[at] = byte
      try {
        readBlock(damaged)
      } catch (error) {
        assert.equal((error as Error).name, 'MalformedUnixFs')
      }
    }),
    { numRuns: 1000 },
  )
})
