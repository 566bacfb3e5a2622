import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startNode } from '../support/node.ts'
import * as fc from '../support/property.ts'

/** Path segments that are easy to get wrong. */
const part = fc.oneof(
  fc.constantFrom(
    'a b',
    'ü',
    '%',
    '%20',
    '%2F',
    '...',
    '.hidden',
    '日本',
    '🐟',
    '"',
    "'",
    '&<>',
    '#',
    '?',
    '+',
    '\\',
    ';',
    'index',
  ),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
    .filter((text) => /^[^/\p{C}]+$/u.test(text) && !/^\.\.?$/.test(text)),
)
/** Directories contain a letter that files do not, so that no path is both. */
const path = fc
  .tuple(
    fc.array(
      part.map((name) => `${name}d`),
      { maxLength: 5 },
    ),
    part.map((name) => `${name}f`),
  )
  .map(([folders, name]) => [...folders, name].join('/'))
const size = fc.oneof(fc.constant(0), fc.nat({ max: 50 }), fc.constantFrom(262_143, 262_144, 262_145, 524_288, 524_289))
const tree = fc.uniqueArray(fc.record({ path, size, fill: fc.nat({ max: 255 }) }), {
  selector: (file) => file.path,
  minLength: 2,
  maxLength: 6,
})

interface Listing {
  readonly directory: {
    readonly children: readonly { readonly name: string; readonly cid: string; readonly size: number }[]
  }
}

test('an uploaded tree is downloaded unchanged, and has the same CID when uploaded again', async (t) => {
  const { call, upload } = await startNode(t)
  const names = async (cid: string): Promise<string[]> => {
    const { directory } = (await (await call(`/api/v2/files/${cid}`)).json()) as Listing
    return directory.children.map(({ name }) => name)
  }
  await fc.assert(
    fc.asyncProperty(tree, async (files) => {
      const contents = Object.fromEntries(files.map((file) => [file.path, Buffer.alloc(file.size, file.fill)]))
      const response = await upload(contents)
      assert.equal(response.status, 200)
      const cid = await response.text()
      for (const [name, content] of Object.entries(contents)) {
        const read = await call(`/api/v2/files/${cid}/${name.split('/').map(encodeURIComponent).join('/')}`)
        assert.equal(read.status, 200, name)
        assert.deepEqual(Buffer.from(await read.arrayBuffer()), content)
      }
      const top = new Set(files.map((file) => file.path.split('/')[0]))
      assert.deepEqual(new Set(await names(cid)), top)
      const reversed = Object.fromEntries(Object.entries(contents).reverse())
      assert.equal(await (await upload(reversed)).text(), cid)
    }),
    { numRuns: 25 },
  )
})
