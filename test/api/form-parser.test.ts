import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { boundaryOf, formParts } from '../../src/api/form-parser.ts'
import { ShoalError } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { anyMutation, mutated } from '../support/mutations.ts'
import * as fc from '../support/property.ts'

/** Each chunk is only valid until the next one is pulled, as in a request. */
async function* inChunks(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0
  for (const length of [...lengths, bytes.length]) {
    const chunk = Buffer.from(bytes.subarray(at, at + length))
    if (chunk.length > 0) yield chunk
    chunk.fill(0)
    at += length
  }
}

type File = readonly [name: string | undefined, content: string]

async function parse(bytes: Buffer, lengths: readonly number[] = [], boundary = 'b'): Promise<File[]> {
  const files: File[] = []
  for await (const { fileName, content } of formParts(inChunks(bytes, lengths), boundary)) {
    const chunks: Buffer[] = []
    for await (const chunk of content) chunks.push(Buffer.from(chunk))
    files.push([fileName, Buffer.concat(chunks).toString('latin1')])
  }
  return files
}

function part(name: string, content: string): string {
  return `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}\r\n`
}

/** A form as a latin1 string of its bytes; names are encoded in UTF-8. */
function textOf(files: readonly File[]): string {
  const parts = files.map(([name = '', content]) => part(Buffer.from(name).toString('latin1'), content))
  return `${parts.join('')}--b--\r\n`
}

function formOf(files: readonly File[]): Buffer {
  return Buffer.from(textOf(files), 'latin1')
}

const malformed = { code: 'ERR_BAD_REQUEST', message: /Malformed multipart body: / }

// Content from the characters of the boundary and its line breaks.
const content = fc
  .string({ unit: fc.constantFrom('\r', '\n', '-', 'b', 'x'), maxLength: 40 })
  .filter((text) => !`\r\n${text}`.includes('\r\n--b'))
const files = fc.array(fc.tuple(fc.constantFrom('a', 'ü/ö', '💧', 'd/e'), content), { maxLength: 5 })
const lengths = fc.oneof(
  fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 90 }),
  fc.array(fc.constant(1), { minLength: 600, maxLength: 600 }),
)

const piece = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 3 }),
  fc.constantFrom('\r\n', '\r\n\r\n', '--b', '\r\n--b', '\r\n--b--', '--', '-', '\r', '\n', ':', ' ', '"', 'filename'),
)
const mutations = fc.array(anyMutation(piece), { minLength: 1, maxLength: 6 })

test('a form yields the same files for every split into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(files, lengths, async (given, cuts) => {
      assert.deepEqual(await parse(formOf(given), cuts), given)
    }),
    { numRuns: 500 },
  )
})

test('a form yields the same files for every split into two chunks', async () => {
  const given: File[] = [
    ['a', 'abc\r'],
    ['b', ''],
    ['c', '\r\n--'],
    ['d', '\r\n-\r\n-b'],
  ]
  const form = formOf(given)
  for (let cut = 1; cut < form.length; cut++) assert.deepEqual(await parse(form, [cut]), given, `cut at ${cut}`)
})

test('a form that is truncated before its closing boundary is rejected at every length', async () => {
  const form = Buffer.from(`${part('a', 'abc')}${part('b', '')}--b--`)
  for (let end = 0; end < form.length; end++)
    await assert.rejects(parse(form.subarray(0, end)), malformed, `cut at ${end}`)
  assert.equal((await parse(form)).length, 2)
})

test('a malformed form yields files or ERR_BAD_REQUEST, and never hangs', async () => {
  await fc.assert(
    fc.asyncProperty(files, mutations, lengths, async (given, changes, cuts) => {
      try {
        await parse(Buffer.from(mutated(textOf(given), changes), 'latin1'), cuts)
      } catch (error) {
        assert.ok(error instanceof ShoalError, String(error))
        assert.equal(error.code, 'ERR_BAD_REQUEST')
      }
    }),
    { numRuns: 1000 },
  )
})

test('the preamble and the epilogue of a form are ignored', async () => {
  const form = Buffer.from(`hello\r\n${part('a', 'abc')}--b--\r\nbye\r\n--b\r\n\r\n--b--\r\n--b`)
  assert.deepEqual(await parse(form), [['a', 'abc']])
  for (let cut = 1; cut < form.length; cut++)
    assert.deepEqual(await parse(form, [cut]), [['a', 'abc']], `cut at ${cut}`)
})

test('a part without headers has no file name, and a part with unterminated headers is rejected', async () => {
  assert.deepEqual(await parse(Buffer.from('--b\r\n\r\nabc\r\n--b--')), [[undefined, 'abc']])
  assert.deepEqual(await parse(Buffer.from('--b\r\nA: 1\r\n\r\nabc\r\n--b--')), [[undefined, 'abc']])
  for (const form of ['--b--', '--b\r\n--b--', `--b\r\nA: 1\r\n--b--`, `--b\r\n${part('a', 'x')}--b--`])
    if (form === '--b--') assert.deepEqual(await parse(Buffer.from(form)), [])
    else await assert.rejects(parse(Buffer.from(form)), malformed, form)
})

test('part headers above the size limit are rejected', async () => {
  const form = (headers: string) =>
    Buffer.from(`--b\r\nContent-Disposition: form-data; filename="a"\r\n${headers}\r\n\r\nabc\r\n--b--`)
  const maximum = limits.partHeaderBytes - 100
  assert.deepEqual(await parse(form(`A: ${'x'.repeat(maximum)}`)), [['a', 'abc']])
  const lines = Array.from({ length: 3000 }, (_, i) => `A${i}: x`).join('\r\n')
  for (const long of [
    `A: ${'x'.repeat(limits.partHeaderBytes)}`,
    lines,
    'x'.repeat(4_000_000),
    `A: ${'\r'.repeat(400_000)}`,
  ])
    for (const size of [1000, 65_536]) {
      const bytes = form(long)
      const cuts = Array.from({ length: Math.ceil(bytes.length / size) }, () => size)
      await assert.rejects(parse(bytes, cuts), /headers of a part have more than 16384 bytes/)
    }
})

test('a chunk of the body is only pulled after the content of the previous chunk was read', async () => {
  let taken = 0
  async function* body(): AsyncGenerator<Buffer> {
    const chunks = [part('a', '').slice(0, -2), ...Array.from({ length: 100 }, () => 'x'.repeat(60_000)), '\r\n--b--']
    for (const chunk of chunks) {
      taken++
      yield Buffer.from(chunk)
    }
  }
  let read = 0
  for await (const { content: chunks } of formParts(body(), 'b'))
    for await (const _ of chunks) assert.ok(taken <= ++read + 1, `${taken} taken, ${read} read`)
  assert.ok(read >= 100)
  assert.equal(taken, 102)
})

test('a large preamble and many parts are not buffered in memory', async () => {
  const used = (): number => {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = used()
  let maximum = 0
  let chunks = 0
  /** Chunks from the network arrive in separate turns of the event loop. */
  const received = async (text: string | Buffer): Promise<Buffer> => {
    if (chunks++ % 100 === 0) maximum = Math.max(maximum, used() - before)
    return await turn(Buffer.from(text))
  }
  const chunk = Buffer.alloc(65_536, 'x\r\n--')
  async function* body(): AsyncGenerator<Buffer> {
    for (let i = 0; i < 1600; i++) yield await received(chunk)
    yield Buffer.from('\r\n')
    for (let i = 0; i < 300; i++)
      yield await received(Array.from({ length: 100 }, (_, k) => part(`${i}/${k}`, '')).join(''))
    yield await received('--b--')
  }
  let parts = 0
  for await (const _ of formParts(body(), 'b')) parts++
  assert.equal(parts, 30_000)
  assert.ok(maximum < 8 * 1024 * 1024, `${maximum} bytes`)
})

test('the boundary is parsed from every multipart content type, quoted or not', () => {
  assert.equal(boundaryOf('multipart/form-data; boundary=abc'), 'abc')
  assert.equal(boundaryOf('multipart/formdata; charset=x; boundary="a b"'), 'a b')
  assert.equal(
    boundaryOf('multipart/mixed; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW'),
    '----WebKitFormBoundary7MA4YWxkTrZu0gW',
  )
  assert.equal(boundaryOf('Multipart/Form-Data;BOUNDARY=abc;x=y'), 'abc')
  assert.equal(boundaryOf(`multipart/form-data; boundary=${'x'.repeat(200)}`), 'x'.repeat(200))
  for (const none of [
    undefined,
    '',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    `multipart/form-data; boundary=${'x'.repeat(201)}`,
    'multipart/form-data; boundary=ü',
    'application/json; boundary=a',
  ])
    assert.equal(boundaryOf(none), undefined)
})

test('a boundary of maximum length is accepted', async () => {
  const boundary = `"${'x'.repeat(199)}`
  const form = Buffer.from(`${part('a', 'abc').replace('--b', `--${boundary}`)}--${boundary}--`)
  assert.deepEqual(await parse(form, [], boundary), [['a', 'abc']])
})
