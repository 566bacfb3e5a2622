import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/node.ts'
import { shoal } from '../support/process.ts'

const example = new URL('../../examples/counter', import.meta.url).pathname

/** Runs commands against a node of their own. */
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

test('a folder is rolled out as a website, and read back', async (t) => {
  const { ok, visit } = await withNode(t)
  const cid = await ok('add', example)
  assert.match(cid, /^bafybei[a-z2-7]{52}$/)
  assert.equal(await ok('name', 'counter', cid), `counter is ${cid}.`)
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

test('names and files are taken back', async (t) => {
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
  assert.match(await ok('ls', 'odd'), /^red \ufffd31m /m)
  const copy = join(temporaryFolder(t), 'copy')
  await ok('get', 'odd', copy)
  assert.deepEqual(readdirSync(copy, { recursive: true }).sort(), readdirSync(folder, { recursive: true }).sort())
  const names = JSON.parse(await ok('ls', '--json')) as { result: { name: string; cid: string }[] }
  assert.deepEqual(
    names.result.map(({ name }) => name),
    ['odd'],
  )
  assert.equal(await ok('unname', 'odd'), `odd is no name any more; it was ${cid}.`)
  assert.equal(await ok('unname', 'odd'), 'There was no odd.')
  await ok('rm', cid)
  const again = await run('rm', cid)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /ERR_NOT_FOUND.*There is no upload bafy/)
})

test('a folder with one file becomes that file, and the command says so', async (t) => {
  const { ok, run } = await withNode(t)
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'index.html'), 'page')
  const { stdout, stderr } = await run('add', folder)
  assert.match(stderr, /only one file, so this is the identifier of index\.html itself/)
  assert.equal(await ok('get', stdout.trim(), '-'), 'page')
  assert.equal((await run('add', join(folder, 'index.html'))).stderr, '')
})

test('what cannot be done is said', async (t) => {
  const { ok, run } = await withNode(t)
  const folder = temporaryFolder(t)
  assert.match((await run('add', folder)).stderr, /there are no files in/)
  assert.match((await run('add', join(folder, 'nowhere'))).stderr, /cannot read/)
  assert.match(
    (await run('get', 'nothing', join(folder, 'x'))).stderr,
    /There is no name 'nothing', and it is no content/,
  )
  const cid = await ok('add', example)
  assert.match((await run('ls', `${cid}/nothing`)).stderr, /There is nothing at 'bafy\S+\/nothing'/)
  assert.match((await run('ls', '')).stderr, /does not begin with a name/)
  assert.match((await run('name', 'a/b', cid)).stderr, /'a\/b' cannot be a name/)
  assert.match((await run('name', 'a', 'b')).stderr, /'b' is no content identifier/)
  assert.match((await run('unname', cid)).stderr, /cannot be a name: it is a content identifier/)
  assert.match((await run('get', cid, folder)).stderr, /exists already/)
  assert.match((await run('get', cid, '-')).stderr, /is a directory/)
  const { code, stdout } = await shoal(t, ['files', 'ls', '--node', 'localhost:1', '--json'])
  assert.equal(code, 1)
  assert.match(stdout, /"code":"ERR_IO","message":"No node answers at localhost:1\. Is one running/)
})
