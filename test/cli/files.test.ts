import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { websiteText } from '../../src/cli/files/website.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/node.ts'
import { shoal } from '../support/process.ts'

const example = new URL('../../examples/counter', import.meta.url).pathname

/** Starts a node, and returns functions that run commands against it. */
async function withNode(t: TestContext) {
  const started = await startNode(t)
  const address = new URL(started.url).host
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await shoal(t, ['files', ...args, '--node', address])
    return { code, stdout, stderr }
  }
  const ok = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 0, stderr)
    return stdout.trimEnd()
  }
  return { ...started, run, ok }
}

test('a folder is uploaded, served as a website, and downloaded again', async (t) => {
  const { ok, visit } = await withNode(t)
  const cid = await ok('add', example)
  assert.match(cid, /^bafybei[a-z2-7]{52}$/)
  assert.match(
    await ok('name', 'counter', cid),
    new RegExp(`^counter is bound to ${cid}\\.\\nhttp://counter\\.shoal\\.localhost:`),
  )
  const host = 'counter.actyx.localhost'
  assert.match((await visit(host, '/', { accept: 'text/html' })).text, /<title>Counter<\/title>/)
  assert.equal((await visit(host, '/app.js')).headers['content-type'], 'text/javascript')
  assert.match(
    await ok('ls', 'counter'),
    /^app\.js +\d+ {2}bafy\S+\nindex\.html +\d+ {2}bafy\S+\nstyle\.css +\d+ {2}bafy/,
  )
  const target = join(temporaryFolder(t), 'copy')
  assert.match(await ok('get', 'counter', target), /^Wrote 3 files with \d+ bytes to/)
  for (const name of ['index.html', 'app.js', 'style.css'])
    assert.deepEqual(readFileSync(join(target, name)), readFileSync(join(example, name)))
  assert.equal(await ok('get', 'counter/style.css', '-'), readFileSync(join(example, 'style.css'), 'utf8').trimEnd())
})

test('names and uploads can be removed, and unusual file names survive', async (t) => {
  const { ok, run } = await withNode(t)
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'ü d'))
  writeFileSync(join(folder, 'ü d', '100% "x".txt'), 'odd')
  writeFileSync(join(folder, 'ü d', 'back\\slash'), '')
  writeFileSync(join(folder, 'red \u009b31m'), '')
  writeFileSync(join(folder, 'empty'), '')
  const added = JSON.parse(await ok('add', folder, '--json')) as {
    result: { cid: string; files: number; bytes: number }
  }
  const { cid } = added.result
  assert.deepEqual(added.result, { cid, files: 4, bytes: 3 })
  await ok('name', 'odd', cid)
  assert.equal(await ok('get', 'odd/ü d/100% "x".txt', '-'), 'odd')
  assert.match(await ok('ls', 'odd'), /^red \\u009b31m /m)
  const copy = join(temporaryFolder(t), 'copy')
  await ok('get', 'odd', copy)
  assert.deepEqual(readdirSync(copy, { recursive: true }).sort(), readdirSync(folder, { recursive: true }).sort())
  const names = JSON.parse(await ok('ls', '--json')) as { result: { name: string; cid: string }[] }
  assert.deepEqual(
    names.result.map(({ name }) => name),
    ['odd'],
  )
  assert.equal(await ok('unname', 'odd'), `Removed the name odd; it was bound to ${cid}.`)
  assert.equal(await ok('unname', 'odd'), 'There was no name odd.')
  await ok('rm', cid)
  const again = await run('rm', cid)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /ERR_NOT_FOUND.*There is no upload bafy/)
})

test('a folder with one page is uploaded as a directory, and a single file as a file', async (t) => {
  const { ok, run, visit } = await withNode(t)
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'index.html'), '<h1>page</h1>')
  const added = await run('add', folder)
  assert.deepEqual([added.code, added.stderr], [0, ''])
  const cid = added.stdout.trim()
  assert.match(await ok('ls', cid), /^index\.html +13 {2}bafy/)
  await ok('name', 'page', cid)
  const page = await visit('page.shoal.localhost', '/', { accept: 'text/html' })
  assert.deepEqual([page.headers['content-type'], page.text], ['text/html', '<h1>page</h1>'])
  const file = await ok('add', join(folder, 'index.html'))
  assert.equal(await ok('ls', file), `${file} is a file.`)
})

test('naming content prints the URL of its website', async (t) => {
  const { ok, url, visit } = await withNode(t)
  const { port } = new URL(url)
  const cid = await ok('add', example)
  const [, printed = ''] = (await ok('name', 'My-App', cid)).split('\n')
  assert.equal(printed, `http://my-app.shoal.localhost:${port}/`)
  const { status, text } = await visit(new URL(printed).host, '/', { accept: 'text/html' })
  assert.equal(status, 200)
  assert.match(text, /<title>Counter/)
  const again = JSON.parse(await ok('name', 'my-app', cid, '--json')) as { result: unknown }
  assert.deepEqual(again.result, { name: 'my-app', cid, before: null, url: printed })
  assert.match(await ok('name', 'my app', cid), /\nNot available as a website: for that, a name has only letters/)
})

test('the URL of a website on another machine says where it resolves', () => {
  const url = 'http://a.shoal.localhost:4454/'
  assert.equal(websiteText({ port: 4454, isHere: false }, 'a'), `${url} on the machine of the node`)
  assert.equal(websiteText({ port: 4454, isHere: true }, 'a'), url)
})

test('unnamed uploads are listed after the names, newest first', async (t) => {
  const { ok } = await withNode(t)
  assert.match(await ok('ls'), /^There are no files yet\. `shoal files add <path>`/)
  const folder = temporaryFolder(t)
  const cids: string[] = []
  for (const text of ['a', 'bb', 'ccc']) {
    writeFileSync(join(folder, 'file.txt'), text)
    cids.push(await ok('add', join(folder, 'file.txt')))
  }
  const [first, second, third] = cids
  const listed = async () => (await ok('ls')).split('\n')
  const head = 'Uploads without a name (`shoal files name <name> <cid>` gives one):'
  assert.deepEqual(await listed(), [head, `-  3  ${third}`, `-  2  ${second}`, `-  1  ${first}`])
  await ok('name', 'two', second ?? '')
  assert.deepEqual(await listed(), [`two  2  ${second}`, '', head, `-  3  ${third}`, `-  1  ${first}`])
  const { result } = JSON.parse(await ok('ls', '--json')) as { result: unknown }
  assert.deepEqual(result, [
    { name: 'two', cid: second, size: 2 },
    { name: null, cid: third, size: 3 },
    { name: null, cid: first, size: 1 },
  ])
  await ok('rm', third ?? '')
  await ok('unname', 'two')
  assert.deepEqual(await listed(), [head, `-  2  ${second}`, `-  1  ${first}`])
})

test('failed commands explain why', async (t) => {
  const { ok, run } = await withNode(t)
  const folder = temporaryFolder(t)
  assert.match((await run('add', folder)).stderr, /there are no files in/)
  assert.match((await run('add', join(folder, 'nowhere'))).stderr, /cannot read/)
  assert.match(
    (await run('get', 'nothing', join(folder, 'x'))).stderr,
    /There is no name 'nothing', and it is not a content/,
  )
  const cid = await ok('add', example)
  assert.match((await run('ls', `${cid}/nothing`)).stderr, /There is nothing at 'bafy\S+\/nothing'/)
  assert.match((await run('ls', '')).stderr, /does not begin with a name/)
  assert.match((await run('name', 'a/b', cid)).stderr, /'a\/b' cannot be a name/)
  assert.match((await run('name', 'a', 'b')).stderr, /'b' is not a content identifier/)
  assert.match((await run('unname', cid)).stderr, /cannot be a name: it is a content identifier/)
  assert.match((await run('get', cid, folder)).stderr, /exists already/)
  assert.match((await run('get', cid, '-')).stderr, /is a directory/)
  const { code, stdout } = await shoal(t, ['files', 'ls', '--node', 'localhost:1', '--json'])
  assert.equal(code, 1)
  assert.match(
    stdout,
    /"code":"ERR_NODE_UNREACHABLE","message":"unable to reach node, additional message: localhost:1: /,
  )
})

test('--node accepts a URL, host and port, or a multiaddress', async (t) => {
  const { url } = await startNode(t)
  const { port } = new URL(url)
  for (const address of [`${url}/`, url, `127.0.0.1:${port}`, `/ip4/127.0.0.1/tcp/${port}`]) {
    const { code, stdout } = await shoal(t, ['files', 'ls', '--node', address, '--json'])
    assert.equal(code, 0, address)
    assert.match(stdout, /^\{"code":"OK"/)
  }
  const { code, stderr } = await shoal(t, ['files', 'ls', '--node', `${url}/api/v2`])
  assert.equal(code, 1)
  assert.match(stderr, /--node: 'http:.*' is not a node address\. Allowed: host, host:port or http:\/\/host:port/)
})
