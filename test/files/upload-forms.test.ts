import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Call } from '../../src/api/call.ts'
import { formParts } from '../../src/api/form-parser.ts'
import { type HttpResponse, textResponse } from '../../src/api/response.ts'
import type { Route } from '../../src/api/router.ts'
import { limits } from '../../src/base/limits.ts'
import { served } from '../support/api.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anyMutation, mutated } from '../support/mutations.ts'
import { startNode, type TestNode } from '../support/node.ts'
import * as fc from '../support/property.ts'

const path = '/api/v2/files'

/** The files of a directory by name, with their content. */
async function contents({ call }: TestNode, cid: string, names: readonly string[]): Promise<string[]> {
  const url = (name: string) => `${path}/${cid}/${name.split('/').map(encodeURIComponent).join('/')}`
  return await Promise.all(names.map(async (name) => await (await call(url(name))).text()))
}

test('multipart bodies of browsers are accepted, with any characters in file names', async (t) => {
  const node = await startNode(t)
  const names = ['a b.txt', 'ü/ö 💧.txt', 'say "hi".txt', "100%'s.txt"]
  const body = new FormData()
  for (const name of names) body.append('file', new File([`in ${name}`], name))
  const response = await node.call(path, { method: 'POST', body })
  assert.equal(response.status, 200)
  assert.deepEqual(
    await contents(node, await response.text(), names),
    names.map((name) => `in ${name}`),
  )
})

test('multipart bodies of curl are accepted', async (t) => {
  const node = await startNode(t)
  const folder = temporaryFolder(t)
  const file = join(folder, 'large.bin')
  writeFileSync(file, 'x'.repeat(3_000_000))
  const files = ['-F', `file=@${file};filename=d/ü.txt`, '-F', `file=@${file};filename="say \\"hi\\""`]
  const sent = ['-s', '-H', `Authorization: Bearer ${node.token}`, ...files, `${node.url}${path}`]
  const { stdout } = await promisify(execFile)('curl', sent)
  const found = await contents(node, stdout, ['d/ü.txt', 'say "hi"'])
  assert.deepEqual(
    found.map((text) => text.length),
    [3_000_000, 3_000_000],
  )
})

test('every multipart content type with a boundary is accepted', async (t) => {
  const { call } = await startNode(t)
  const body = '--b\r\nContent-Disposition: form-data; name="file"; filename="q.txt"\r\n\r\n42\n\r\n--b--\r\n'
  const cids = new Set<string>()
  for (const type of [
    'multipart/formdata; boundary=b',
    'multipart/form-data; boundary="b"',
    'multipart/x; boundary=b',
  ]) {
    const response = await call(path, { method: 'POST', body, headers: { 'content-type': type } })
    assert.equal(response.status, 200, type)
    cids.add(await response.text())
  }
  assert.equal(cids.size, 1)
  for (const type of ['multipart/formdata', 'text/plain; boundary=b', `multipart/x; boundary=${'b'.repeat(300)}`])
    assert.equal((await call(path, { method: 'POST', body, headers: { 'content-type': type } })).status, 415, type)
})

function part(name: string): string {
  return `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\nin ${name}\r\n`
}

const text = ['a', 'd/b', 'd/c'].map(part).join('')
const piece = fc.constantFrom(
  '\r\n',
  '\r\n\r\n',
  '--b',
  '\r\n--b--',
  '-',
  '\r',
  ':',
  '"',
  'filename',
  '..',
  '/',
  '\0',
  'x',
)

test('every malformed multipart body gets a response, and the node continues', async (t) => {
  const { call, upload } = await startNode(t)
  const headers = { 'content-type': 'multipart/formdata; boundary=b' }
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyMutation(piece), { minLength: 1, maxLength: 4 }),
      fc.nat(400),
      async (changes, cut) => {
        const whole = mutated(`${text}--b--\r\n`, changes)
        const body = whole.slice(0, cut % 3 === 0 ? cut : whole.length)
        const response = await call(path, { method: 'POST', body, headers })
        const message = await response.text()
        assert.ok([200, 400].includes(response.status), `${response.status} ${message}`)
        if (response.status === 400) assert.match(message, /^\{"code":"ERR_BAD_REQUEST"/)
      },
    ),
    { numRuns: 300 },
  )
  assert.equal((await upload({ a: 'x' })).status, 200)
})

/** Sends a body of a given length in chunks, until the node stops reading. Returns the response. */
async function sendSlowly(
  { url, token }: Pick<TestNode, 'url' | 'token'>,
  length: number,
  chunks: Iterable<string | Buffer>,
): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true })
  let response = ''
  socket.setEncoding('utf8').on('data', (received: string) => {
    response += received
  })
  socket.on('error', () => {})
  const answered = new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
  const type = 'Content-Type: multipart/formdata; boundary=b'
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n${type}\r\nContent-Length: ${length}`
  socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`)
  for (const chunk of chunks) {
    if (response !== '' || socket.destroyed) break
    await new Promise((resolve) => socket.write(chunk, resolve))
  }
  await answered
  socket.destroy()
  return response
}

function* repeated(times: number, chunk: Buffer): Generator<Buffer> {
  for (let i = 0; i < times; i++) yield chunk
}

test('a client that stalls during an upload gets an error that says so', async (t) => {
  const read = async (call: Call): Promise<HttpResponse> => {
    for await (const { content } of formParts(call.bodyStream(), 'b')) for await (const _ of content);
    return textResponse('complete')
  }
  const routes: Route[] = [{ path, methods: { POST: { authenticated: false, handle: read } } }]
  const port = await served(t, routes, { bodyTimeoutMs: 50 })
  const response = await sendSlowly({ url: `http://127.0.0.1:${port}`, token: '' }, 1000, [text])
  assert.match(response, /^HTTP\/1\.1 400 .*Idle timeout: no data of the request body for 50 ms/s)
})

test('uploads with large and with small parts use bounded memory', async (t) => {
  const node = await startNode(t)
  const mebibyte = Buffer.alloc(1024 * 1024, 'x')
  const used = (): number => {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = used()
  let most = before
  function* measured(): Generator<Buffer> {
    for (let i = 0; i < 10; i++) {
      yield* repeated(10, mebibyte)
      most = Math.max(most, used())
    }
  }
  const header = await sendSlowly(node, 100 * mebibyte.length, [
    '--b\r\nContent-Disposition: form-data; filename="',
    ...repeated(100, mebibyte),
  ])
  assert.match(header, /^HTTP\/1\.1 400 .*headers of a part have more than 16384 bytes/s)
  const preamble = await sendSlowly(
    node,
    100 * mebibyte.length + text.length + 9,
    (function* () {
      yield* measured()
      yield `\r\n${text}--b--\r\n`
    })(),
  )
  assert.match(preamble, /^HTTP\/1\.1 200 /)
  const parts = Array.from({ length: limits.filesPerUpload + 1 }, (_, i) => part(String(i)))
  const body = `${parts.join('')}--b--`
  const many = await sendSlowly(node, body.length, [body])
  assert.match(many, /^HTTP\/1\.1 400 .*more than 20000 files/s)
  const bytes = await sendSlowly(node, text.length + 5, `${text}--b--`)
  assert.match(bytes, /^HTTP\/1\.1 200 /)
  assert.ok(most - before < 32 * mebibyte.length, `${most - before} bytes more during an upload`)
  assert.ok(used() - before < 32 * mebibyte.length, `${used() - before} bytes more after all of them`)
})
