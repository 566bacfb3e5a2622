import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { exchange, startApi, type TestApi } from '../support/api.ts'
import { noise } from '../support/noise.ts'

const blob = (path: string) => `/api/v2/blob/${path}`

async function put({ call }: TestApi, path: string, body: string | Buffer, type = 'text/plain'): Promise<Response> {
  return await call(blob(path), { method: 'PUT', body: Buffer.from(body), headers: { 'content-type': type } })
}

async function statusAndText(response: Response): Promise<[number, string]> {
  return [response.status, await response.text()]
}

test('a blob is readable by every app, with its bytes and content type unchanged', async (t) => {
  const api = await startApi(t)
  assert.equal((await put(api, '-/a/b%20c', 'hello', 'text/x-thing; charset=utf-8')).status, 204)
  const own = await api.call(blob('-/a/b%20c'))
  assert.equal(own.headers.get('content-type'), 'text/x-thing; charset=utf-8')
  assert.equal(own.headers.get('content-length'), '5')
  assert.equal(await own.text(), 'hello')
  const headers = { authorization: `Bearer ${api.otherToken}` }
  assert.equal(await (await api.call(blob('com.example.test/a/b%20c'), { headers })).text(), 'hello')
  assert.equal((await api.call(blob('-/a/b%20c'), { headers })).status, 204)
})

test('a folder is served as a listing, a missing path with 204', async (t) => {
  const api = await startApi(t)
  await put(api, '-/x/file', 'hello')
  await put(api, '-/x/folder/file', 'hello')
  const listing = (await (await api.call(blob('-/x'))).json()) as Record<string, Record<string, unknown>>
  assert.deepEqual(Object.keys(listing), ['file', 'folder'])
  assert.deepEqual(listing['folder'], { type: 'folder' })
  assert.deepEqual([listing['file']?.['originalSize'], listing['file']?.['atimeMillis']], [5, null])
  for (const path of ['-/nothing', '-/x/fil', '-/x/file/', 'com.example.other/x'])
    assert.deepEqual(await statusAndText(await api.call(blob(path))), [204, ''])
  assert.equal((await api.call(blob('-'))).status, 200)
})

test('an Accept header that excludes the content type is rejected with 406', async (t) => {
  const api = await startApi(t)
  await put(api, '-/x', 'hello', 'text/plain')
  const status = async (accept: string) => (await api.call(blob('-/x'), { headers: { accept } })).status
  for (const accept of ['*/*', 'text/*', 'text/html,text/plain;q=0.5']) assert.equal(await status(accept), 200)
  assert.equal(await status('application/json'), 406)
})

test('a blob below a path replaces the blob at the path, and a delete is recursive', async (t) => {
  const api = await startApi(t)
  await put(api, '-/a', '1')
  await put(api, '-/a/b', '2')
  await put(api, '-/ab', '3')
  const listing = (await (await api.call(blob('-/a'))).json()) as object
  assert.deepEqual(Object.keys(listing), ['b'])
  assert.equal((await api.call(blob('-/a'), { method: 'DELETE' })).status, 204)
  assert.equal((await api.call(blob('-/a/b'))).status, 204)
  assert.equal(await (await api.call(blob('-/ab'))).text(), '3')
  assert.equal((await api.call(blob('-/never'), { method: 'DELETE' })).status, 204)
})

test('writes to the blobs of another app and malformed app IDs are rejected with 400', async (t) => {
  const api = await startApi(t)
  const refused = async (path: string, method: string): Promise<string> => {
    const response = await api.call(blob(path), { method, ...(method === 'PUT' && { body: 'x' }) })
    assert.equal(response.status, 400)
    return ((await response.json()) as { message: string }).message
  }
  assert.equal(
    await refused('com.example.test/x', 'PUT'),
    'Invalid request. cannot put blob for specific appId com.example.test',
  )
  assert.match(await refused('com.example.test/x', 'DELETE'), /cannot delete blob for specific appId/)
  for (const path of ['BAD/x', '', '/x'])
    assert.match(await refused(path, 'GET'), /^Invalid request\. Invalid AppId: '/)
  assert.equal((await fetch(`${api.url}${blob('-/x')}`)).status, 401)
  assert.equal((await api.call(blob('anything at all'), { method: 'POST', body: '{}' })).status, 204)
  assert.equal((await api.call(blob('-/x'), { method: 'PATCH' })).status, 405)
})

test('a blob that is too large, raw or compressed, or without Content-Length is rejected with 413', async (t) => {
  const api = await startApi(t)
  const plain = await put(api, '-/x', Buffer.alloc(limits.blobBytes + 1))
  assert.equal(plain.status, 413)
  assert.match(await plain.text(), /10485761 > 10485760/)
  const compressed = await put(api, '-/x', noise(2_000_000))
  assert.equal(compressed.status, 413)
  assert.match(await compressed.text(), /> 1048576\)/)
  const head = `PUT ${blob('-/x')}?access_token=${api.token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`
  const chunked = await exchange(
    Number(new URL(api.url).port),
    `${head}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
  )
  assert.match(chunked, /413 [\s\S]*Payload length unknown\. Limit is 10485760/)
  assert.equal((await put(api, '-/x', Buffer.alloc(limits.blobBytes))).status, 204)
})
