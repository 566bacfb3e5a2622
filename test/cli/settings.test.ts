import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { settingsChecksum } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type Ended, ShoalProcess, shoal } from '../support/process.ts'

interface Answer {
  code: string
  message?: string
  result?: unknown
}

/** Runs settings commands on a stopped node. */
function stoppedNode(t: TestContext): {
  folder: string
  human: (...args: string[]) => Promise<Ended>
  json: (...args: string[]) => Promise<Answer>
} {
  const folder = join(temporaryFolder(t), 'data')
  const human = (...args: string[]) => shoal(t, ['settings', 'local', ...args, '--working-dir', folder])
  return { folder, human, json: async (...args) => JSON.parse((await human(...args, '--json')).stdout) as Answer }
}

test('init creates a data folder, and changes nothing when it exists', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  assert.deepEqual(await json('init'), { code: 'OK', result: { created: true, working_dir: folder } })
  assert.deepEqual(await json('init'), { code: 'OK', result: { created: false, working_dir: folder } })
  const refused = await human('init', '--fail-on-existing')
  assert.equal(refused.code, 1)
  assert.equal(
    refused.stderr,
    `[ERR_INVALID_INPUT] Error: database already initialized in ${folder}\nNext: shoal settings local init --help\n`,
  )
})

test('a missing folder and a folder without a node are rejected by name', async (t) => {
  const { folder, json } = stoppedNode(t)
  assert.deepEqual(await json('get', '/'), { code: 'ERR_INVALID_INPUT', message: `${folder} does not exist` })
  assert.ok(!existsSync(folder))
  const other = temporaryFolder(t)
  const ended = await shoal(t, ['settings', 'local', 'get', '/', '--working-dir', other])
  assert.match(ended.stderr, /is no data directory of shoal; `shoal settings local init` makes one/)
})

test('set replaces a value, get prints it, and unset restores the default', async (t) => {
  const { human, json } = stoppedNode(t)
  await human('init')
  const set = await human('set', '/admin/displayName', 'Press 7')
  assert.equal(
    set.stdout,
    'Successfully replaced settings at /admin/displayName. Created object with defaults:\nPress 7\n',
  )
  assert.equal((await human('get', '/admin/displayName')).stdout, 'Press 7\n')
  assert.deepEqual(await json('get', '/', '--no-defaults'), {
    code: 'OK',
    result: { admin: { displayName: 'Press 7' } },
  })
  assert.deepEqual(await json('set', '/swarm', 'topic: x'), {
    code: 'OK',
    result: { scope: '/swarm', settings: (await json('get', '/swarm')).result },
  })
  assert.deepEqual(await json('unset', '/admin/displayName'), { code: 'OK', result: { scope: '/admin/displayName' } })
  assert.deepEqual(await json('get', '/admin/displayName'), { code: 'OK', result: 'Default Node' })
  assert.equal((await human('unset', '/no/such/thing')).stdout, 'Successfully unset settings at /no/such/thing.\n')
})

test('a value is parsed as YAML or JSON, from the argument, a file or stdin', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  const file = join(folder, 'value.yaml')
  writeFileSync(file, 'streams:\n  logs: { maxEvents: 100 }\nroutes:\n  - from: "\'log\'"\n    into: logs\n')
  assert.equal((await json('set', '/eventRouting', `@${file}`)).code, 'OK')
  assert.deepEqual(await json('get', '/eventRouting/routes/0/into'), { code: 'OK', result: 'logs' })
  const piped = await shoal(t, ['settings', 'local', 'set', '/swarm/mdns', '@-', '--json', '--working-dir', folder], {
    input: 'false',
  })
  assert.equal((JSON.parse(piped.stdout) as Answer).code, 'OK')
  assert.deepEqual(await json('get', '/swarm/mdns'), { code: 'OK', result: false })
  const wrongType = await json('set', '/admin/displayName', '42')
  assert.equal(wrongType.code, 'ERR_SETTINGS_INVALID')
  assert.equal(
    wrongType.message,
    'Validation failed.\n\tErrors:\n\t\t/admin/displayName: Type of the value is wrong. (The value must be string.)',
  )
  assert.match((await json('set', '/', '{a: [}')).message ?? '', /neither JSON nor YAML/)
  assert.match((await json('set', '/', '@/no/such/file')).message ?? '', /cannot read `\/no\/such\/file`/)
  assert.match((await json('set', '/', `@${folder}`)).message ?? '', /cannot read/)
})

test('set waits for a slow stdin', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  const set = new ShoalProcess(t, ['settings', 'local', 'set', '/swarm/topic', '@-', '--working-dir', folder])
  set.child.stdin?.write('slow')
  // Write the rest while the command reads: it takes the lock only after it has its value.
  await human('set', '/swarm/topic', 'first')
  set.child.stdin?.end('ly')
  assert.equal((await set.ended).code, 0)
  assert.deepEqual(await json('get', '/swarm/topic'), { code: 'OK', result: 'slowly' })
})

test('a value that is nested too deeply, too large or an alias bomb is rejected', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  const deep = join(folder, 'deep.json')
  writeFileSync(deep, `{"api":{"events":{"_internal":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}}}`)
  assert.match((await json('set', '/', `@${deep}`)).message ?? '', /nested more than 512 levels/)
  const large = join(folder, 'large.json')
  writeFileSync(large, JSON.stringify({ admin: { displayName: 'x'.repeat(2_000_000) } }))
  assert.match((await json('set', '/', `@${large}`)).message ?? '', /at most 1048576 bytes/)
  const laughs = join(folder, 'laughs.yaml')
  const lines = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...[...'bcdefghij'].map((name, i) => `${name}: &${name} [${Array(10).fill(`*${'abcdefghi'[i]}`).join(',')}]`),
  ]
  writeFileSync(laughs, lines.join('\n'))
  assert.match((await json('set', '/', `@${laughs}`)).message ?? '', /neither JSON nor YAML: Excessive alias count/)
  assert.deepEqual(await json('get', '/', '--no-defaults'), { code: 'OK', result: {} })
})

test('malformed scopes and arguments end with exit code 2', async (t) => {
  const { human } = stoppedNode(t)
  await human('init')
  const wrong: [string[], RegExp][] = [
    [['get', 'swarm'], /Scope \[swarm\] cannot be parsed/],
    [['get', '/swarm//topic'], /Scope \[\/swarm\/\/topic\] contains empty parts/],
    [['get', '/swarm/'], /contains empty parts/],
    [['get'], /missing required argument 'scope'/],
    [['set', '/'], /missing required argument 'value'/],
    [['frobnicate'], /unknown command 'frobnicate'/],
  ]
  for (const [args, message] of wrong) {
    const ended = await human(...args)
    assert.equal(ended.code, 2, args.join(' '))
    assert.match(ended.stderr, message)
    assert.equal(ended.stdout, '')
  }
  const json = await human('get', 'swarm', '--json')
  assert.equal((JSON.parse(json.stdout) as Answer).code, 'ERR_INVALID_INPUT')
})

test('with --json usage errors are JSON too, and errors include their cause', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  assert.equal((await json('get')).code, 'ERR_INVALID_INPUT')
  assert.equal((await json('frobnicate')).code, 'ERR_INVALID_INPUT')
  writeFileSync(join(folder, 'file'), '')
  const ended = await shoal(t, ['settings', 'local', 'init', '--json', '--working-dir', join(folder, 'file', 'x')])
  assert.match(
    (JSON.parse(ended.stdout) as Answer).message ?? '',
    /cannot create the data directory[\s\S]*Caused by:[\s\S]*ENOTDIR/,
  )
})

test('files of a new data folder are private to their owner', async (t) => {
  const { folder, human } = stoppedNode(t)
  await human('init')
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name)
})

test('an invalid revision causes a warning, and the next change replaces it', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  await human('set', '/admin/displayName', 'good')
  await human('set', '/admin/displayName', 'better')
  const database = new DatabaseSync(join(folder, 'node.db'))
  // As a version of shoal with another schema would store it: the checksum is right, but the document is invalid.
  const row = database.prepare('SELECT revision, time, origin FROM settings WHERE revision = 2').get()
  const document = '{"admin":1}'
  const checksum = settingsChecksum({ ...(row as { revision: number; time: number; origin: string }), document })
  database.prepare('UPDATE settings SET document = ?, checksum = ? WHERE revision = 2').run(document, checksum)
  database.close()
  const get = await human('get', '/admin/displayName')
  assert.equal(get.stdout, 'good\n')
  assert.match(get.stderr, /Warning: revision 2 of the settings is not valid and not in force/)
  await human('set', '/admin/displayName', 'good')
  assert.equal((await human('get', '/admin/displayName')).stderr, '')
  assert.deepEqual(await json('get', '/admin/displayName'), { code: 'OK', result: 'good' })
})

test('a corrupted revision is rejected, and a rollback restores the one before it', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  await human('set', '/swarm/topic', 'hall-3')
  await human('set', '/admin/displayName', 'Press 7')
  const database = new DatabaseSync(join(folder, 'node.db'))
  database.exec("UPDATE settings SET document = replace(document, 'hall-3', 'hall-2') WHERE revision = 2")
  database.close()
  const command = `shoal settings local rollback 1 --working-dir '${folder}'`
  const refusal = /Revision 2 of the settings is damaged.* revision 1, with the topic 'hall-3'/
  for (const args of [
    ['get', '/swarm/topic'],
    ['set', '/admin/displayName', 'x'],
    ['rollback', '2'],
  ]) {
    const refused = await json(...args)
    assert.equal(refused.code, 'ERR_INVALID_NODE_STATE', args.join(' '))
    assert.match(refused.message ?? '', refusal)
    assert.ok(refused.message?.includes(command), refused.message)
  }
  const run = await shoal(t, ['run', '--random', '--working-dir', folder])
  assert.equal(run.code, 1)
  assert.match(run.stderr, refusal)
  assert.ok(!existsSync(join(folder, 'topics')), 'no store was made for the wrong topic')
  assert.deepEqual(await json('rollback', '1'), { code: 'OK', result: { revision: 3, restored: 1 } })
  assert.deepEqual(await json('get', '/', '--no-defaults'), { code: 'OK', result: { swarm: { topic: 'hall-3' } } })
  assert.equal((await shoal(t, ['store', 'verify', '--working-dir', folder])).code, 0)
})

test('rollback rejects an unknown revision, and 0 restores the defaults', async (t) => {
  const { human, json } = stoppedNode(t)
  await human('init')
  await human('set', '/swarm/topic', 'hall-3')
  assert.equal((await json('rollback', '7')).code, 'ERR_SETTINGS_REVISION_UNKNOWN')
  const wrong = await human('rollback', 'newest')
  assert.deepEqual([wrong.code, wrong.stdout], [1, ''])
  assert.match(wrong.stderr, /'newest' is not a revision/)
  const { stdout } = await human('rollback', '0')
  assert.equal(stdout, 'Successfully rolled back to revision 0, stored as revision 2.\n')
  assert.deepEqual(await json('get', '/swarm/topic'), { code: 'OK', result: 'default-topic' })
})

test('an error message does not contain the swarm key', async (t) => {
  const { human } = stoppedNode(t)
  await human('init')
  const key = Buffer.alloc(32, 9).toString('base64')
  await human('set', '/swarm/swarmKey', key)
  const { stderr } = await human('set', '/swarm/swarmKey/x', '1')
  assert.match(stderr, /The value at path \/swarm\/swarmKey is not of type object or array but string/)
  assert.ok(!stderr.includes(key))
})

test('a scope without settings ends with exit code 1', async (t) => {
  const { human, json } = stoppedNode(t)
  await human('init')
  assert.equal((await human('get', '/admin/nothing')).code, 1)
  const missing = { code: 'ERR_SETTINGS_NOT_FOUND_AT_SCOPE', message: "No settings found at scope '/admin'." }
  assert.deepEqual(await json('get', '/admin', '--no-defaults'), missing)
})

test('set on a running node fails with the lock', async (t) => {
  const { folder, human, json } = stoppedNode(t)
  await human('init')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  await run.api()
  const { code, message } = (await json('set', '/admin/displayName', 'x')) as { code: string; message: string }
  assert.equal(code, 'ERR_IO')
  const locked = `data directory \`${folder}\` is locked by another shoal process (PID ${run.child.pid})`
  assert.ok(message.startsWith(locked), message)
})

test('settings of a stopped node take effect at the next start', async (t) => {
  const { folder, human } = stoppedNode(t)
  await human('init')
  await human('set', '/admin/logLevels/node', 'DEBUG')
  await human('set', '/swarm/gossipInterval', '0')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  await run.api()
  await run.logged(/DEBUG.* node: starting nodeId=/)
  await run.logged(/WARN.* settings: \/swarm\/gossipInterval is 0, which cannot work; 1 is used/)
})

test('the schema is printed as text and with --json', async (t) => {
  const human = JSON.parse((await shoal(t, ['settings', 'schema'])).stdout) as Record<string, unknown>
  const json = JSON.parse((await shoal(t, ['--json', 'settings', 'schema'])).stdout) as Answer
  assert.equal(human['$schema'], 'http://json-schema.org/draft-06/schema#')
  assert.deepEqual(json, { code: 'OK', result: human })
})

test('a closed pipe (EPIPE) ends with exit code 0', async () => {
  const child = spawn('sh', ['-c', `"${process.execPath}" "${shoalCommand}" settings schema; echo "exit $?" >&2`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await new Promise((resolve) => child.once('close', resolve))
  assert.equal(stderr, 'exit 0\n')
})
