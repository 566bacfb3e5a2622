import assert from 'node:assert/strict'
import { test } from 'node:test'
import { htmlListing } from '../../src/api/content/listing.ts'
import { rangeOf } from '../../src/api/content/range.ts'
import { typeByContent, typeByName } from '../../src/files/index.ts'
import * as fc from '../support/property.ts'

test('a Range header is parsed as a byte range, ignored, or unsatisfiable', () => {
  const cases: [string | undefined, ReturnType<typeof rangeOf>][] = [
    [undefined, undefined],
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=2-5', { start: 2, end: 6 }],
    ['bytes=2-', { start: 2, end: 10 }],
    ['bytes=2-100', { start: 2, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-100', { start: 0, end: 10 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-2', undefined],
    ['bytes=-', undefined],
    ['bytes=0-1,3-4', undefined],
    ['lines=0-1', undefined],
  ]
  for (const [header, range] of cases) assert.deepEqual(rangeOf(header, 10), range, header)
  assert.equal(rangeOf('bytes=0-', 0), 'unsatisfiable')
})

test('a parsed range is never outside of the file', () => {
  fc.assert(
    fc.property(fc.nat(), fc.option(fc.nat(), { nil: '' }), fc.nat(), (first, last, size) => {
      const range = rangeOf(`bytes=${first}-${last}`, size)
      if (range === undefined || range === 'unsatisfiable') return
      assert.ok(range.start >= 0 && range.start < range.end && range.end <= size)
    }),
  )
})

test('names in an HTML listing are escaped', () => {
  const name = `<script>alert("1")</script>'&`
  const { body } = htmlListing({ name, cid: 'bafy', children: [{ name, cid: 'bafy', size: 1 }] }, 'a="b"')
  assert.ok(!String(body).includes('<script>'))
  assert.match(String(body), /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;&amp;/)
  assert.match(String(body), /href="\.\/%3Cscript%3E[^"]*\?a=&quot;b&quot;"/)
})

test('the content type of a file is found by its extension, or else by sniffing', () => {
  assert.equal(typeByName('a/B.HTML'), 'text/html')
  assert.equal(typeByName('x.mjs'), 'application/javascript')
  assert.equal(typeByName('html'), undefined)
  assert.equal(typeByName('x.constructor'), undefined)
  assert.equal(typeByContent(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')), 'image/png')
  assert.equal(typeByContent(Buffer.from('<html>')), 'text/plain')
  assert.equal(typeByContent(Buffer.alloc(0)), 'text/plain')
  assert.equal(typeByContent(Buffer.from('a\0b')), 'application/octet-stream')
  assert.equal(typeByContent(Buffer.concat([Buffer.alloc(1024, 'a'), Buffer.alloc(1)])), 'text/plain')
})
