import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { factOf } from '../../src/files/facts.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { FileBuilder } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { blockFile } from '../../src/store/index.ts'
import { exchange } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { form, json, startNode } from '../support/node.ts'
import { noise } from '../support/noise.ts'

const site = { 'index.html': '<html>hi</html>\n', 's.css': 'body{}' }
const siteCid = 'bafybeiczs2knqj54uvbtp7i52xcvaa3jhhkccltush2nwnshpqozodenpa'

test('an upload returns the CID of the file or directory and publishes an event', async (t) => {
  const { upload, payloads } = await startNode(t)
  const single = await upload({ 'some/dir/q.txt': '42\n' })
  assert.equal(single.status, 200)
  assert.match(single.headers.get('content-type') ?? '', /^text\/plain/)
  const cid = await single.text()
  assert.equal(cid, 'bafybeiauqcttc3r6btrkpsemuf3rr5rd6polk2k4uqrf5hiku5cutp3dl4')
  assert.equal(await (await upload(site)).text(), siteCid)
  const app_id = 'com.example.test'
  assert.deepEqual(await payloads('files:created'), [
    { type: 'fileAdded', name: 'some/dir/q.txt', cid, size: 3, mime: 'text/plain', app_id },
    { type: 'directoryAdded', name: '/', cid: siteCid, size: 129, app_id },
  ])
})

test('a single file is stored as a directory if the request asks for it', async (t) => {
  const { call, payloads } = await startNode(t)
  const { body, type } = form([['index.html', '<html>hi</html>\n']])
  const post = async (query: string) =>
    await (await call(`/api/v2/files${query}`, { method: 'POST', body, headers: { 'content-type': type } })).text()
  const [file, directory] = [await post(''), await post('?directory=true')]
  assert.equal(await post('?directory=false'), file)
  const listing = (await (await call(`/api/v2/files/${directory}`)).json()) as { directory: { children: unknown } }
  assert.deepEqual(listing.directory.children, [{ size: 16, name: 'index.html', cid: file }])
  const page = await call(`/api/v2/files/${directory}`, { headers: { accept: 'text/html' } })
  assert.deepEqual([page.headers.get('content-type'), await page.text()], ['text/html', '<html>hi</html>\n'])
  const types = (await payloads('files:created')).map((payload) => (payload as { type: string }).type)
  assert.deepEqual(types, ['fileAdded', 'directoryAdded', 'fileAdded'])
})

test('uploads without a name are listed if the request asks for them', async (t) => {
  const { call, upload } = await startNode(t)
  const list = async (query = '') => await (await call(`/api/v2/files${query}`)).json()
  const cid = await (await upload({ 'a.txt': 'a' })).text()
  assert.deepEqual(await list(), { names: [] })
  assert.deepEqual(await list('?uploads=true'), { names: [], uploads: [{ cid, size: 1 }] })
  await call('/api/v2/files/a', { method: 'PUT', body: cid })
  assert.deepEqual(await list('?uploads=true'), { names: [{ name: 'a', cid, size: 1 }], uploads: [] })
})

test('a download has content type, length, ETag and caching headers', async (t) => {
  const { upload, call } = await startNode(t)
  const content = noise(600_000)
  const cid = await (await upload({ 'a.bin': content })).text()
  const whole = await call(`/api/v2/files/${cid}`)
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), content)
  const expected = {
    'content-type': 'application/octet-stream',
    'content-length': '600000',
    'accept-ranges': 'bytes',
    etag: `"${cid}"`,
    'cache-control': 'private, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(whole.headers.get(name), value, name)
  assert.equal(whole.headers.get('content-disposition'), null)
  const head = await call(`/api/v2/files/${cid}`, { method: 'HEAD' })
  assert.equal(head.headers.get('content-length'), '600000')
  assert.equal(await head.text(), '')
  const known = await call(`/api/v2/files/${cid}`, { headers: { 'if-none-match': `"x", W/"${cid}"` } })
  assert.equal(known.status, 304)
})

test('a range request downloads a part of a file', async (t) => {
  const { upload, call } = await startNode(t)
  const content = noise(600_000)
  const cid = await (await upload({ 'a.bin': content })).text()
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 1],
    ['bytes=262143-262145', 262_143, 262_146],
    ['bytes=500000-', 500_000, 600_000],
    ['bytes=-7', 599_993, 600_000],
  ] as const) {
    const part = await call(`/api/v2/files/${cid}`, { headers: { range } })
    assert.equal(part.status, 206)
    assert.equal(part.headers.get('content-range'), `bytes ${start}-${end - 1}/600000`)
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), content.subarray(start, end))
  }
  const beyond = await call(`/api/v2/files/${cid}`, { headers: { range: 'bytes=600000-' } })
  assert.equal(beyond.status, 416)
  assert.equal(beyond.headers.get('content-range'), 'bytes */600000')
  const changed = await call(`/api/v2/files/${cid}`, { headers: { range: 'bytes=0-0', 'if-range': '"other"' } })
  assert.equal(changed.status, 200)
  await changed.body?.cancel()
})

test('a directory is a JSON listing for programs, and index.html or an HTML listing for browsers', async (t) => {
  const { upload, call } = await startNode(t)
  const cid = await (await upload({ 'sub/ü "x".txt': 'A', 'web/index.html': 'page', 'web/a/index.html/x': 'y' })).text()
  const listing = (await (await call(`/api/v2/files/${cid}/sub`)).json()) as { directory: { name: string } }
  assert.equal(listing.directory.name, 'sub')
  const html = { accept: 'text/html,*/*' }
  const redirect = await call(`/api/v2/files/${cid}/sub?a=b`, { headers: html })
  assert.equal(redirect.status, 301)
  assert.equal(redirect.headers.get('location'), `/api/v2/files/${cid}/sub/?a=b`)
  const page = await call(`/api/v2/files/${cid}/sub/`, { headers: html })
  assert.match(await page.text(), /href="\.\/%C3%BC%20%22x%22\.txt">ü &quot;x&quot;\.txt</)
  const index = await call(`/api/v2/files/${cid}/web`, { headers: html })
  assert.equal(await index.text(), 'page')
  assert.equal(index.headers.get('content-type'), 'text/html')
  assert.equal(index.headers.get('vary'), 'accept')
  const odd = await call(`/api/v2/files/${cid}/web/a/`, { headers: html })
  assert.match(await odd.text(), /index\.html/)
  const file = await call(`/api/v2/files/${cid}/sub/%C3%BC%20%22x%22.txt`)
  assert.equal(await file.text(), 'A')
  assert.equal(
    file.headers.get('content-disposition'),
    `inline;filename="_ _x_.txt";filename*=UTF-8''%C3%BC%20%22x%22.txt`,
  )
})

test('an invalid upload is refused with a reason and leaves no blocks', async (t) => {
  const { call, upload, payloads } = await startNode(t)
  const good = ['ok.txt', 'B'] as const
  const truncated = form([good]).body.subarray(0, -4)
  const cases: [string, Buffer][] = [
    ['leads elsewhere', form([['../../etc/passwd', 'A'], good]).body],
    ['leads elsewhere', form([['a/./b', 'A']]).body],
    ['empty part', form([['', 'A']]).body],
    ['empty part', form([['//etc/passwd', 'A'], good]).body],
    ['empty part', form([['a/', 'A'], good]).body],
    ['two files', form([good, ['/ok.txt', 'A']]).body],
    ['both a file and a directory', form([good, ['ok.txt/x', 'A']]).body],
    [
      'both a file and a directory',
      form([
        ['d/x', 'A'],
        ['d', 'A'],
      ]).body,
    ],
    ['characters that no name has', form([['a\nb', 'A']]).body],
    ['more than 4096 bytes', form([['x'.repeat(5000), 'A']]).body],
    ['no file in it', form([]).body],
    ['Malformed multipart body', truncated],
    ['Malformed multipart body', Buffer.from('nonsense')],
    ['no file name', Buffer.from('--limit\r\nContent-Disposition: form-data; name="file"\r\n\r\nA\r\n--limit--\r\n')],
  ]
  for (const [reason, body] of cases) {
    const headers = { 'content-type': 'multipart/form-data; boundary=limit' }
    const response = await call('/api/v2/files', { method: 'POST', body: new Uint8Array(body), headers })
    assert.equal(response.status, 400, reason)
    assert.match(((await response.json()) as { message: string }).message, new RegExp(reason))
  }
  assert.deepEqual(await payloads('files:created'), [])
  const builder = new FileBuilder(() => {})
  builder.add(Buffer.from(good[1]))
  const { cid } = builder.finish()
  assert.equal((await call(`/api/v2/files/${cid}`)).status, 404)
  assert.equal(await (await upload({ 'ok.txt': good[1] })).text(), String(cid))
  assert.equal((await call(`/api/v2/files/${cid}`)).status, 200)
})

test('an upload needs a multipart body with a content length within the limit', async (t) => {
  const { url, token, call } = await startNode(t)
  const other = await call('/api/v2/files', { method: 'POST', body: '{}', headers: json })
  assert.equal(other.status, 415)
  const ask = (length: string) =>
    exchange(
      Number(new URL(url).port),
      `POST /api/v2/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: multipart/form-data; boundary=b\r\nConnection: close\r\n${length}\r\n\r\n0\r\n\r\n`,
    )
  const unknown = await ask('Transfer-Encoding: chunked')
  assert.match(unknown, /^HTTP\/1\.1 413 .*Payload length unknown\. Limit is 134217728/s)
  const large = await ask(`Content-Length: ${limits.uploadBytes + 1}`)
  assert.match(large, /^HTTP\/1\.1 413 .*Payload too large \(134217729 > 134217728\)/s)
})

test('binding, rebinding and removing a name publishes an event', async (t) => {
  const { call, upload, payloads } = await startNode(t)
  const cid = await (await upload(site)).text()
  const put = (name: string, body: string) => call(`/api/v2/files/${name}`, { method: 'PUT', body })
  assert.equal(await (await put('a%20b', `${cid}\n`)).text(), '')
  assert.equal(await (await put('a%20b', cid)).text(), cid)
  assert.equal((await call('/api/v2/files/a%20b/s.css')).status, 200)
  assert.equal((await call('/api/v2/files/a%20b/%ff')).status, 404)
  assert.equal((await call('/api/v2/files/%ff')).status, 405)
  const later = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
  await put('later', later)
  assert.equal((await call('/api/v2/files/later')).status, 404)
  assert.deepEqual(await (await call('/api/v2/files')).json(), {
    names: [
      { name: 'a b', cid, size: 129 },
      { name: 'later', cid: later },
    ],
  })
  const remove = (name: string) => call(`/api/v2/files/${name}`, { method: 'DELETE' })
  assert.equal(await (await remove('a%20b')).text(), cid)
  assert.equal(await (await remove('a%20b')).text(), '')
  assert.equal((await call('/api/v2/files/a%20b')).status, 405)
  const added = (name: string, target: string) => ({ Add: { name, cid: target, public: true, level: 'Prefetch' } })
  assert.deepEqual(await payloads('ans'), [
    added('a b', cid),
    added('a b', cid),
    added('later', later),
    { Remove: { name: 'a b' } },
  ])
})

test('an invalid name or CID is refused without an event', async (t) => {
  const { call, payloads } = await startNode(t)
  const put = async (name: string, body: string) =>
    (await call(`/api/v2/files/${name}`, { method: 'PUT', body })).status
  const names = [
    siteCid,
    'QmRgutAxd8t7oGkSm4wmeuByG6M51wcTso6cubDdQtuEfL',
    '%3Cscript%3E',
    'a%2Fb',
    'a/b',
    '%ff',
    '%00',
    'prefetch',
    'remove',
    'x'.repeat(300),
  ]
  for (const name of names) {
    assert.equal(await put(name, siteCid), 405, name)
    assert.equal((await call(`/api/v2/files/${name}`, { method: 'DELETE' })).status, 405, name)
  }
  for (const body of ['', 'x', 'bafybeinonsense']) assert.equal(await put('name', body), 405)
  assert.deepEqual(await payloads('ans'), [])
})

test('a CID with an unsupported codec is not found', async (t) => {
  const { call } = await startNode(t)
  const raw = 'bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e'
  assert.equal((await call(`/api/v2/files/${raw}`)).status, 404)
})

test('a named directory is a website with the API on its own origin', async (t) => {
  const { call, upload, visit, node } = await startNode(t)
  const cid = await (await upload({ ...site, 'docs/a.txt': 'A', 'api/v2/own': 'mine' })).text()
  await call('/api/v2/files/MyApp', { method: 'PUT', body: cid })
  for (const host of ['myapp.actyx.localhost', 'MYAPP.shoal.localhost:4454', 'myapp.actyx.localhost.'])
    assert.equal((await visit(host, '/')).text, site['index.html'], host)
  const host = 'myapp.actyx.localhost'
  const css = await visit(host, '/s.css')
  assert.equal(css.headers['content-type'], 'text/css')
  assert.equal(css.headers['x-content-type-options'], 'nosniff')
  assert.match(String(css.headers['cache-control']), /no-store/)
  assert.equal((await visit(host, '/s.css', {}, 'HEAD')).headers['content-length'], '6')
  assert.equal((await visit(host, '/s.css', { authorization: 'Bearer nonsense' })).status, 200)
  assert.equal((await visit(host, '/s.css', { range: 'bytes=-2' })).text, '{}')
  const listing = await visit(host, '/docs/')
  assert.match(listing.text, /^\{"directory"/)
  assert.equal(listing.headers['x-content-type-options'], 'nosniff')
  const toSlash = await visit(host, '/docs', { accept: 'text/html' })
  assert.equal(toSlash.headers['location'], '/docs/')
  assert.equal(toSlash.headers['cache-control'], 'no-store')
  assert.equal((await visit(host, '/api/v2/own')).text, 'mine')
  assert.equal((await visit(host, '/api/v2/node/id')).text, node.id)
  assert.equal((await visit(host, '/api/v2/node/info')).status, 401)
  for (const [path, status] of [
    ['/missing', 404],
    ['/healthz', 404],
    ['/s.css/deeper', 404],
    ['/%ff', 404],
  ] as const)
    assert.equal((await visit(host, path)).status, status, path)
  assert.equal((await visit(host, '/', {}, 'POST')).status, 405)
  for (const other of [`${cid}.actyx.localhost`, 'unknown.actyx.localhost'])
    assert.equal((await visit(other, '/')).status, 404, other)
})

test('the website of a name that is not public requires a token', async (t) => {
  const folder = temporaryFolder(t)
  const first = await startNode(t, folder)
  const cid = await (await first.upload(site)).text()
  await first.node.stop('NODE_STOPPED_BY_HOST')
  // shoal itself never publishes a private name.
  const fact = factOf({ payload: { Add: { name: 'App', cid, public: false, level: 'Prefetch' } }, timestamp: 0 })
  assert.ok(fact !== undefined)
  const store = new FileStore(blockFile(folder, 'default-topic'), systemRuntime)
  await store.apply([{ fact, key: { lamport: 1, stream: `${first.node.id}-0` } }])
  await store.close()
  const { visit, token, call } = await startNode(t, folder)
  const host = 'app.actyx.localhost'
  assert.equal((await visit(host, '/s.css')).status, 401)
  assert.equal((await visit(host, '/s.css', { authorization: 'Bearer nonsense' })).status, 401)
  assert.equal((await visit(host, '/s.css', { authorization: `Bearer ${token}` })).text, site['s.css'])
  assert.equal((await visit(host, `/s.css?access_token=${token}`)).text, site['s.css'])
  await call('/api/v2/files/App', { method: 'PUT', body: cid })
  assert.equal((await visit(host, '/s.css')).text, site['s.css'], 'binding the name again makes it public')
})

test('names and files survive a restart', async (t) => {
  const folder = temporaryFolder(t)
  const first = await startNode(t, folder)
  const cid = await (await first.upload(site)).text()
  await first.call('/api/v2/files/app', { method: 'PUT', body: cid })
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const second = await startNode(t, folder)
  assert.equal(await (await second.call('/api/v2/files/app/s.css')).text(), site['s.css'])
  assert.deepEqual(await (await second.call('/api/v2/files')).json(), { names: [{ name: 'app', cid, size: 129 }] })
})

test('an upload that the client aborts leaves no blocks', async (t) => {
  const { node, url, token, call, upload } = await startNode(t)
  const { body } = form([['a', noise(300_000)]])
  const head = `POST /api/v2/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: multipart/form-data; boundary=limit\r\nContent-Length: ${body.length}\r\n\r\n`
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(head)
  await new Promise((resolve) => socket.write(body.subarray(0, -100), resolve))
  socket.destroy()
  const cid = await (await upload({ b: 'other' })).text()
  assert.equal((await call(`/api/v2/files/${cid}`)).status, 200)
  await node.stop('NODE_STOPPED_BY_HOST')
  // A stopping node may not have noticed the abort yet. The next one cleans up before it responds.
  const next = await startNode(t, node.folder)
  await next.call('/api/v2/files')
  await next.node.stop('NODE_STOPPED_BY_HOST')
  const store = new FileStore(blockFile(node.folder, 'default-topic'), systemRuntime)
  const { blocks } = store.usage()
  await store.close()
  assert.equal(blocks, 1)
})
