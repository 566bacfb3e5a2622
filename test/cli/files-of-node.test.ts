import assert from 'node:assert/strict'
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { addFiles, getFiles, listFiles, nameFiles, removeFiles, unnameFiles } from '../../src/cli/commands/files.ts'
import { initLocal } from '../../src/cli/commands/local-settings.ts'
import type { NamedFilesNode } from '../../src/cli/files/files-node.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { socketText } from '../../src/listening/listen.ts'
import { folderWith } from '../support/answering.ts'
import { control } from '../support/control.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'
import { shoal } from '../support/process.ts'

const [anna, bert] = [2, 3].map((byte) => new KeyPair(Buffer.alloc(32, byte)).toPrivateText())

async function started(t: TestContext) {
  const folder = join(temporaryFolder(t), 'data')
  const { node } = await startBareNode(t, { folder })
  const [api] = node.addresses.api
  const [admin] = node.addresses.admin
  assert.ok(api && admin)
  return { folder, apiPort: api.port, admin: socketText(admin) }
}

/** Uploads, names, lists, downloads and removes a file and a folder. */
async function useFiles(t: TestContext, named: NamedFilesNode, apiPort: number): Promise<void> {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'index.html'), '<h1>page</h1>')
  const large = Buffer.alloc(3_000_000, 'large')
  writeFileSync(join(folder, 'large.bin'), large)
  const { json, text } = await addFiles(named, folder)
  const cid = String(await text())
  assert.deepEqual(json, { cid, files: 2, bytes: 13 + large.length })
  const url = `http://page.shoal.localhost:${apiPort}/`
  assert.deepEqual((await nameFiles(named, 'page', cid)).json, { name: 'page', cid, before: null, url })
  assert.equal(
    await (await nameFiles(named, 'page', cid)).text(),
    `page is bound to ${cid}; before, to ${cid}.\n${url}`,
  )
  const listed = (await listFiles(named)).json as { name: string; cid: string }[]
  assert.deepEqual(
    listed.map((entry) => [entry.name, entry.cid]),
    [['page', cid]],
  )
  assert.deepEqual(await listFiles(named, '/').then((all) => all.json), listed)
  assert.match(String(await (await listFiles(named, 'page')).text()), /^index\.html +13 .*\nlarge\.bin +3000000 /)
  const target = join(temporaryFolder(t), 'copy')
  assert.deepEqual((await getFiles(named, 'page', target)).json, { target, files: 2, bytes: 13 + large.length })
  assert.deepEqual(readFileSync(join(target, 'large.bin')), large)
  assert.deepEqual((await unnameFiles(named, 'page')).json, { name: 'page', before: cid })
  await removeFiles(named, cid)
  await assert.rejects(removeFiles(named, cid), { code: 'ERR_NOT_FOUND', message: /There is no upload bafy/ })
  assert.deepEqual((await listFiles(named)).json, [])
  await assert.rejects(getFiles(named, 'page', join(target, 'x')), { message: /There is no name 'page'/ })
  await assert.rejects(listFiles(named, `${cid}/missing`), { message: /There is nothing at 'bafy/ })
  await assert.rejects(nameFiles(named, 'a/b', cid), { message: /'a\/b' cannot be a name/ })
}

test('the owner of a data folder uses the files of its running node without a key', async (t) => {
  const { folder, apiPort } = await started(t)
  await useFiles(t, { folder, identity: '/nowhere' }, apiPort)
  const query = `FROM 'files:created'`
  const { body } = await control(folder, 'POST', '/events/query', { body: JSON.stringify({ query, order: 'asc' }) })
  const apps = (body as { type: string; payload?: { app_id: string } }[]).flatMap(
    ({ payload }) => payload?.app_id ?? [],
  )
  assert.deepEqual(new Set(apps), new Set(['com.actyx.cli']))
})

test('a user with a key uses the files of a node through its admin port, and others do not', async (t) => {
  const { folder, apiPort, admin } = await started(t)
  await useFiles(t, { folder: '', node: admin, identity: anna }, apiPort)
  const stranger = { folder: '', node: admin, identity: bert }
  const file = join(folder, 'shoal.json')
  for (const refused of [addFiles(stranger, file), listFiles(stranger), getFiles(stranger, 'a', '-')])
    await assert.rejects(refused, { code: 'ERR_UNAUTHORIZED' })
  const form = { 'content-type': 'multipart/form-data; boundary=a' }
  const upload = await fetch(`http://${admin}/api/v2/admin/files`, { method: 'POST', headers: form, body: '--a--\r\n' })
  const { code } = (await upload.json()) as { code: string }
  assert.deepEqual([upload.status, code], [401, 'ERR_USER_UNAUTHENTICATED'])
})

test('commands for files name their node by an argument, its data folder, or its API', async (t) => {
  const { folder, apiPort, admin } = await started(t)
  const env = { XDG_CONFIG_HOME: temporaryFolder(t) }
  const file = join(temporaryFolder(t), 'a.txt')
  writeFileSync(file, 'text')
  const run = (...args: string[]) => shoal(t, ['files', ...args], { env })
  const ways = [
    ['--working-dir', folder],
    [folder],
    [admin, '--identity', String(anna)],
    ['--node', `localhost:${apiPort}`],
  ]
  const cids = new Set<string>()
  for (const way of ways) {
    const { code, stdout, stderr } = await run('add', file, ...way)
    assert.deepEqual([code, stderr], [0, ''])
    cids.add(stdout.trimEnd())
  }
  const [cid = '', ...others] = cids
  assert.deepEqual(others, [])
  assert.equal((await run('ls', '/', folder)).stdout.split('\n')[1], `-  4  ${cid}`)
  const got = await run('get', cid, '-', folder)
  assert.deepEqual([got.stdout, got.stderr], ['text', ''])
  for (const more of [[admin], ['--working-dir', folder], ['-i', String(anna)]]) {
    const { code, stderr } = await run('ls', '/', ...more, '--node', 'localhost')
    assert.equal(code, 1)
    assert.match(stderr, /^\[ERR_UNSUPPORTED\]: Error: --node excludes another node, --working-dir and --identity/)
  }
})

test('a node that cannot be reached is reported as such', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await initLocal(folder, false)
  await assert.rejects(listFiles({ folder }), {
    code: 'ERR_NODE_UNREACHABLE',
    message: /no node runs\. Start it with `shoal run --working-dir /,
  })
  for (const named of [{ folder: '', node: '127.0.0.1:1', identity: anna }, { api: '127.0.0.1:1' }])
    await assert.rejects(listFiles(named), {
      code: 'ERR_NODE_UNREACHABLE',
      message: /^unable to reach node, additional message: 127\.0\.0\.1:1: connect ECONNREFUSED/,
    })
})

test('a download whose connection is closed leaves no part of a file', async (t) => {
  const folder = await folderWith(t, (_, response) => {
    response.writeHead(200, { etag: '"a"', 'content-length': 10 })
    response.write('abc', () => response.destroy())
  })
  const target = join(temporaryFolder(t), 'copy')
  await assert.rejects(getFiles({ folder }, 'a', target), {
    code: 'ERR_NODE_UNREACHABLE',
    message: /a: the connection was closed: /,
  })
  assert.equal(existsSync(target), false)
})

test('a directory whose node stops in between is not asked for again from its start', async (t) => {
  let asked = 0
  const listing = { directory: { name: 'd', cid: 'c', children: [{ name: 'a', cid: 'a', size: 1 }] } }
  const folder = await folderWith(t, (request, response) => {
    asked++
    if (request.url?.endsWith('/files/d') === true) response.end(JSON.stringify(listing))
    else request.socket.destroy()
  })
  const downloaded = getFiles({ folder }, 'd', join(temporaryFolder(t), 'copy'))
  await assert.rejects(downloaded, { code: 'ERR_NODE_UNREACHABLE', message: /the connection was closed/ })
  assert.equal(asked, 2)
})

/** A file of 64 MiB without content on disk. */
function largeFile(t: TestContext): string {
  const file = join(temporaryFolder(t), 'large')
  writeFileSync(file, '')
  truncateSync(file, 64 * 1024 * 1024)
  return file
}

test('an upload that is refused before its end fails with the reason', async (t) => {
  let received = 0
  const folder = await folderWith(t, (request, response) => {
    response.writeHead(503).end('{"code":"ERR_STORAGE","message":"the disk is full"}')
    request.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
  })
  const file = largeFile(t)
  await assert.rejects(addFiles({ folder }, file), { code: 'ERR_STORAGE', message: 'the disk is full' })
  assert.ok(received < 64 * 1024 * 1024, `${received} bytes were sent`)
})

test('an upload is repeated from its start while the node changes to another topic', async (t) => {
  let asked = 0
  const lengths: number[] = []
  const folder = await folderWith(t, async (request, response) => {
    if (++asked === 1) {
      response.writeHead(503).end('{"code":"ERR_TOPIC_UNAVAILABLE","message":"later"}')
      request.resume()
      return
    }
    let length = 0
    for await (const chunk of request) length += (chunk as Buffer).length
    lengths.push(length, Number(request.headers['content-length']))
    response.end('cid')
  })
  const { json } = await addFiles({ folder }, largeFile(t))
  assert.deepEqual(json, { cid: 'cid', files: 1, bytes: 64 * 1024 * 1024 })
  assert.equal(lengths[0], lengths[1])
})

test('a file that changes while it is read is not uploaded', async (t) => {
  // Its size is 0, and it has content.
  const changing = '/proc/version'
  if (!existsSync(changing)) return t.skip('no /proc')
  const { folder, apiPort } = await started(t)
  for (const named of [{ folder }, { api: `localhost:${apiPort}` }])
    await assert.rejects(addFiles(named, changing), { code: 'ERR_IO', message: /has changed while it was read/ })
  assert.deepEqual((await listFiles({ folder })).json, [])
})

test('a node of an earlier version, without these requests, is reported as such', async (t) => {
  const folder = await folderWith(t, (request, response) => {
    request.resume()
    response.writeHead(404).end('{"code":"ERR_NOT_FOUND","message":"not found"}')
  })
  await assert.rejects(listFiles({ folder }), {
    code: 'ERR_UNSUPPORTED',
    message: /GET \/files\): its version is older/,
  })
})
