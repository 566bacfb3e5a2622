import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { boundaryOf, fileNameOf, partsOf } from '../../src/api/multipart.ts'
import { limits } from '../../src/limits.ts'

/** Each piece is only there until the next one is asked for. */
async function* inPieces(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0
  for (const length of [...lengths, bytes.length]) {
    const piece = Buffer.from(bytes.subarray(at, at + length))
    if (piece.length > 0) yield piece
    piece.fill(0)
    at += length
  }
}

async function read(bytes: Buffer, boundary: string, lengths: readonly number[] = []): Promise<[string, string][]> {
  const parts: [string, string][] = []
  for await (const { head, content } of partsOf(inPieces(bytes, lengths), boundary)) {
    const pieces: Buffer[] = []
    for await (const piece of content) pieces.push(Buffer.from(piece))
    parts.push([head.trim(), Buffer.concat(pieces).toString('latin1')])
  }
  return parts
}

test('a form is read, however it is cut into pieces', async () => {
  // Characters that are also in the boundary and its line ends.
  const content = fc.string({ unit: fc.constantFrom('\r', '\n', '-', 'b', 'x'), maxLength: 40 })
  const contents = fc.array(
    content.filter((text) => !text.includes('\r\n--b')),
    { maxLength: 4 },
  )
  const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(contents, lengths, async (texts, pieces) => {
      const parts = texts.map((text, i) => `--b\r\nA: ${i}\r\n\r\n${text}\r\n`)
      const form = Buffer.from(`${parts.join('')}--b--\r\n`, 'latin1')
      const expected = texts.map((text, i) => [`A: ${i}`, text])
      assert.deepEqual(await read(form, 'b', pieces), expected)
    }),
    { numRuns: 300 },
  )
})

test('a form that ends early, or has something else after a boundary, is refused wherever it is cut', async () => {
  const form = Buffer.from('--b\r\nA: 1\r\n\r\nabc\r\n--b\r\nA: 2\r\n\r\n\r\n--b--')
  for (let end = 0; end < form.length; end++)
    await assert.rejects(read(form.subarray(0, end), 'b'), { code: 'ERR_BAD_REQUEST' }, `cut at ${end}`)
  await assert.rejects(read(Buffer.from('--bx\r\n'), 'b'), { code: 'ERR_BAD_REQUEST' })
  const endless = Buffer.from(`--b${' '.repeat(limits.partHeadBytes)}\r\nA: 1\r\n\r\nabc\r\n--b--`)
  await assert.rejects(read(endless, 'b'), { code: 'ERR_BAD_REQUEST' })
  assert.equal((await read(form, 'b')).length, 2)
})

test('what comes before the first boundary and after the last one means nothing', async () => {
  const form = Buffer.from('hello\r\n--b \t\r\nA: 1\r\n\r\nabc\r\n--b--\r\nbye\r\n--b\r\n')
  assert.deepEqual(await read(form, 'b'), [['A: 1', 'abc']])
})

test('a part without a head is read, one with an endless head is not', async () => {
  assert.deepEqual(await read(Buffer.from('--b\r\n\r\nabc\r\n--b--'), 'b'), [['', 'abc']])
  const endless = Buffer.from(`--b\r\nA: ${'x'.repeat(20_000)}\r\n\r\n\r\n--b--`)
  await assert.rejects(read(endless, 'b'), /head of a part has more than/)
})

test('the boundary is found in both spellings of the content type, with and without quotation marks', () => {
  assert.equal(boundaryOf('multipart/form-data; boundary=abc'), 'abc')
  assert.equal(boundaryOf('multipart/formdata; charset=x; boundary="a b"'), 'a b')
  assert.equal(boundaryOf('Multipart/Form-Data;BOUNDARY=abc;x=y'), 'abc')
  for (const none of [
    undefined,
    '',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'application/json; boundary=a',
  ])
    assert.equal(boundaryOf(none), undefined)
})

test('file names are understood as browsers and other clients write them', () => {
  const name = (parameters: string) => fileNameOf(`Content-Disposition: form-data; ${parameters}\r\nA: b`)
  assert.equal(name('name="file"; filename="a b.txt"'), 'a b.txt')
  assert.equal(name('filename=plain.txt; name=file'), 'plain.txt')
  assert.equal(name('name="filename=x"; filename="ü/ö.txt"'), 'ü/ö.txt')
  assert.equal(name('filename="say %22hi%22.txt"'), 'say "hi".txt')
  assert.equal(name('filename="say \\"hi\\" \\\\.txt"'), 'say "hi" \\.txt')
  assert.equal(name('filename="100%25.txt"'), '100%25.txt')
  assert.equal(name(`filename="x"; filename*=UTF-8''100%25%22.txt`), '100%".txt')
  assert.equal(name('filename=""'), '')
  assert.equal(name('name="file"'), undefined)
  assert.equal(fileNameOf('A: b'), undefined)
  assert.throws(() => name(`filename*=UTF-8''%ff`), { code: 'ERR_BAD_REQUEST' })
})
