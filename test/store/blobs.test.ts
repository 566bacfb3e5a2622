import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BlobStore } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { noise } from '../support/noise.ts'
import * as fc from '../support/property.ts'

function open(t: TestContext): BlobStore {
  const blobs = new BlobStore(join(temporaryFolder(t), 'blobs.db'), () => 42)
  t.after(() => blobs.close())
  return blobs
}

const text = (content: string) => ({ type: 'text/plain', bytes: Buffer.from(content) })

test('a blob is returned unchanged, and only for its app', (t) => {
  const blobs = open(t)
  blobs.put('a', 'x/y', text('hello'))
  assert.deepEqual(blobs.get('a', 'x/y'), text('hello'))
  assert.equal(blobs.get('b', 'x/y'), undefined)
  assert.equal(blobs.get('a', 'x'), undefined)
})

test('a listing contains files with sizes and times, and folders', (t) => {
  const blobs = open(t)
  blobs.put('a', 'd/b', text('hello'))
  blobs.put('a', 'd/e/f', text(''))
  blobs.put('a', 'dx', text('other'))
  blobs.get('a', 'd/b')
  const file = {
    type: 'file',
    originalSize: 5,
    compressedSize: 14,
    mimeType: 'text/plain',
    atimeMillis: 42,
    ctimeMillis: 42,
  }
  assert.deepEqual(Object.fromEntries(blobs.list('a', 'd') ?? []), { b: file, e: { type: 'folder' } })
  assert.equal(blobs.list('a', 'd/b'), undefined)
  assert.deepEqual([...(blobs.list('a', '')?.keys() ?? [])], ['d', 'dx'])
})

test('a path is a file or a folder, never both: the last write wins', (t) => {
  const names = fc
    .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join('/'))
  const operations = fc.array(fc.record({ path: names, remove: fc.boolean() }), { maxLength: 12 })
  const below = (path: string, folder: string) => path.startsWith(`${folder}/`)
  const blobs = open(t)
  let app = 0
  fc.assert(
    fc.property(operations, (list) => {
      app++
      let model = new Map<string, string>()
      for (const [i, { path, remove }] of list.entries()) {
        if (remove) blobs.delete(`${app}`, path)
        else blobs.put(`${app}`, path, text(`${i}`))
        model = new Map(
          [...model].filter(([name]) => name !== path && !below(name, path) && (remove || !below(path, name))),
        )
        if (!remove) model.set(path, `${i}`)
      }
      for (const path of ['a', 'b', 'ab', 'a/a', 'a/b', 'a/ab', 'a/a/a', 'ab/a', 'ab/a/b'])
        assert.equal(blobs.get(`${app}`, path)?.bytes.toString(), model.get(path), path)
    }),
    { numRuns: 60 },
  )
})

test('a blob that is too large is refused, and the existing one is kept', (t) => {
  const blobs = open(t)
  blobs.put('a', 'x', text('kept'))
  const large = { code: 'ERR_PAYLOAD_TOO_LARGE', message: 'Payload too large (10485761 > 10485760).' }
  assert.throws(() => blobs.put('a', 'x', { type: 't', bytes: Buffer.alloc(10 * 1024 * 1024 + 1) }), large)
  assert.throws(() => blobs.put('a', 'x', { type: 't', bytes: noise(1024 * 1024 + 1) }), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
  })
  assert.equal(blobs.get('a', 'x')?.bytes.toString(), 'kept')
})
