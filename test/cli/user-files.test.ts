import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { KnownNodes } from '../../src/cli/client/known-nodes.ts'
import { configFolder, defaultKeyFile, userKey, writeKey } from '../../src/cli/client/user-files.ts'
import { formatPublicKey, KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { temporaryFolder } from '../support/folder.ts'

const key = new KeyPair(Buffer.alloc(32, 1))
const other = new KeyPair(Buffer.alloc(32, 2))

function environment(t: TestContext, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name]
    process.env[name] = value
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

test('a key pair is written to two files, of which the private one is only for its owner', (t) => {
  const path = join(temporaryFolder(t), 'new', 'my.key')
  assert.deepEqual(writeKey(path, key), { privateKeyPath: path, publicKeyPath: `${path}.pub` })
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(readFileSync(path, 'utf8'), `${key.toPrivateText()}\n`)
  assert.equal(readFileSync(`${path}.pub`, 'utf8'), `${formatPublicKey(key.publicKey)}\n`)
  assert.throws(() => writeKey(path, other), { code: 'ERR_FILE_EXISTS', message: `File ${path} already exists.` })
  assert.deepEqual(userKey(path).publicKey, key.publicKey)
})

test('the key is that of the option, of the environment, or of the default file', (t) => {
  const folder = temporaryFolder(t)
  environment(t, { XDG_CONFIG_HOME: folder, SHOAL_IDENTITY: '', AX_IDENTITY: '' })
  assert.equal(configFolder('linux'), join(folder, 'shoal'))
  assert.equal(defaultKeyFile(), join(folder, 'shoal', 'keys', 'users', 'id'))
  assert.throws(() => userKey(undefined), {
    code: 'ERR_USER_UNAUTHENTICATED',
    message: /users\/id.*shoal users keygen/,
  })
  writeKey(defaultKeyFile(), key)
  assert.deepEqual(userKey(undefined).publicKey, key.publicKey)
  environment(t, { AX_IDENTITY: other.toPrivateText() })
  assert.deepEqual(userKey(undefined).publicKey, other.publicKey)
  assert.deepEqual(userKey(key.toPrivateText()).publicKey, key.publicKey)
})

test('a key file that is missing, readable by others or malformed is refused', (t) => {
  const path = join(temporaryFolder(t), 'id')
  assert.throws(() => userKey(path), { code: 'ERR_PATH_INVALID' })
  writeFileSync(path, `${key.toPrivateText()}\r\n`, { mode: 0o600 })
  assert.deepEqual(userKey(path).publicKey, key.publicKey)
  chmodSync(path, 0o640)
  assert.throws(() => userKey(path), { code: 'ERR_INVALID_INPUT', message: /Type `chmod 600 / })
  writeFileSync(path, 'nonsense')
  chmodSync(path, 0o600)
  assert.throws(() => userKey(path), { code: 'ERR_INVALID_INPUT', message: /has no private key/ })
})

test('nodes are remembered by address', (t) => {
  const file = join(temporaryFolder(t), 'shoal', 'known-nodes')
  const [first, second] = [nodeIdOf(key.publicKey), nodeIdOf(other.publicKey)]
  assert.equal(new KnownNodes(file).at('press7:4458'), undefined)
  new KnownNodes(file).add('press7:4458', first)
  new KnownNodes(file).add('press8:4458', second)
  const known = new KnownNodes(file)
  assert.deepEqual([known.at('press7:4458'), known.at('press8:4458')], [first, second])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  for (const line of ['press7:4458 x', 'press7:4458', `press7:4458 ${first} more`]) {
    writeFileSync(file, `${line}\n`)
    assert.throws(() => known.at('press7:4458'), { code: 'ERR_INVALID_INPUT' })
  }
})

test('the first line of an address counts, and a last line without its end stays', (t) => {
  const known = new KnownNodes(join(temporaryFolder(t), 'known-nodes'))
  const [first, second] = [nodeIdOf(key.publicKey), nodeIdOf(other.publicKey)]
  writeFileSync(known.file, `press7:4458 ${first}`)
  assert.equal(known.add('press8:4458', second), second)
  assert.equal(known.add('press7:4458', second), first)
  assert.deepEqual([known.at('press7:4458'), known.at('press8:4458')], [first, second])
})

test('commands at the same time lose no node of each other', async (t) => {
  const known = new KnownNodes(join(temporaryFolder(t), 'known-nodes'))
  const node = nodeIdOf(key.publicKey)
  const workers = ['a', 'b'].map((host) => {
    const workerData = { file: known.file, node, host, count: 100 }
    return new Worker(new URL('../support/known-nodes-thread.ts', import.meta.url), { workerData })
  })
  // Both start adding at once.
  await Promise.all(workers.map((worker) => once(worker, 'online')))
  for (const worker of workers) worker.postMessage('start')
  assert.deepEqual(await Promise.all(workers.map(async (worker) => (await once(worker, 'exit'))[0])), [0, 0])
  assert.equal(new Set(readFileSync(known.file, 'utf8').trimEnd().split('\n')).size, 200)
  assert.equal(known.at('a99:4458'), node)
})
