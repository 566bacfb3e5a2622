import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { publicSwarmKey } from '../../src/settings/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { addForeignStream } from '../support/foreign-stream.ts'
import { type Ended, ShoalProcess, shoal } from '../support/process.ts'

interface Commands {
  readonly folder: string
  readonly human: (...args: string[]) => Promise<Ended>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
  readonly json: (...args: string[]) => Promise<any>
}

function commands(t: TestContext, folder = join(temporaryFolder(t), 'data')): Commands {
  const human = (...args: string[]) => shoal(t, [...args, '--working-dir', folder])
  return { folder, human, json: async (...args) => JSON.parse((await human(...args, '--json')).stdout) }
}

async function running(t: TestContext, folder?: string): Promise<Commands & { run: ShoalProcess }> {
  const made = commands(t, folder)
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', made.folder])
  await run.api()
  return { ...made, run }
}

test('settings of a running node are read and changed, and stay changed after it was stopped', async (t) => {
  const { run, human, json } = await running(t)
  const set = await human('settings', 'set', '/admin/displayName', 'Press 7')
  assert.deepEqual([set.code, set.stderr], [0, ''])
  assert.equal(
    set.stdout,
    'Successfully replaced settings at /admin/displayName. Created object with defaults:\nPress 7\n',
  )
  await run.logged(/NODE_SETTINGS_CHANGED: Node settings at scope \/admin\/displayName were changed\./)
  assert.deepEqual(await json('settings', 'set', '/swarm/mdns', 'false'), {
    code: 'OK',
    result: { scope: '/swarm/mdns', settings: false, revision: 2, applied: { live: ['/swarm/mdns'], restart: [] } },
  })
  const topic = await human('settings', 'set', '/swarm/topic', 'hall-3')
  assert.equal(topic.stderr, 'The node changes to the topic now: /readyz says when it is open.\n')
  await run.logged(/the topic 'hall-3' is open/)
  const key = await human('settings', 'set', '/swarm/swarmKey', Buffer.alloc(32, 7).toString('base64'))
  assert.equal(key.stderr, 'The node restarts its swarm now.\n')
  assert.equal((await human('settings', 'unset', '/swarm/swarmKey')).code, 0)
  assert.equal((await human('settings', 'get', '/admin/displayName')).stdout, 'Press 7\n')
  const unset = await human('settings', 'unset', '/swarm/topic')
  assert.equal(unset.stdout, 'Successfully unset settings at /swarm/topic.\n')
  const stored = { admin: { displayName: 'Press 7' }, swarm: { mdns: false } }
  assert.deepEqual(await json('settings', 'get', '/', '--no-defaults'), { code: 'OK', result: stored })
  run.kill('SIGTERM')
  assert.equal((await run.ended).code, 0)
  assert.deepEqual(parse((await human('settings', 'get', '/', '--no-defaults')).stdout), stored)
  const { result } = await json('settings', 'rollback', '1')
  assert.deepEqual(result, { revision: 7, restored: 1, applied: { live: [], restart: ['/swarm/mdns'] } })
  assert.deepEqual((await json('settings', 'get', '/swarm/mdns')).result, true)
})

test('the history of the settings is shown, of a running and of a stopped node', async (t) => {
  const { run, human, json } = await running(t)
  const empty = await human('settings', 'history')
  assert.deepEqual([empty.code, empty.stdout], [0, 'Nothing was set yet: the defaults are in force.\n'])
  const key = Buffer.alloc(32, 7).toString('base64')
  await human('settings', 'set', '/', JSON.stringify({ swarm: { topic: 'hall-3', swarmKey: key } }))
  await human('settings', 'set', '/admin/displayName', `Press ${'7'.repeat(60)}`)
  const { result } = await json('settings', 'history')
  const whole = { path: '/admin/displayName', before: 'Default Node', after: `Press ${'7'.repeat(60)}` }
  assert.deepEqual(
    result.map(({ time: _, ...rest }: { time: string }) => rest),
    [
      { revision: 2, origin: 'control socket', changed: [whole.path], changes: [whole] },
      {
        revision: 1,
        origin: 'control socket',
        changed: ['/swarm/swarmKey', '/swarm/topic'],
        changes: [
          { path: '/swarm/swarmKey', before: publicSwarmKey, after: '(hidden)' },
          { path: '/swarm/topic', before: 'default-topic', after: 'hall-3' },
        ],
      },
    ],
  )
  const whileRunning = await human('settings', 'history')
  assert.match(whileRunning.stdout, /│ REVISION │ TIME +│ BY +│ CHANGED +│ BEFORE +│ AFTER +│/)
  assert.match(
    whileRunning.stdout,
    /│ 2 +│ \d{4}-\S+Z │ control socket │ \/admin\/displayName │ Default Node +│ Press 7{43}… │/,
  )
  assert.match(whileRunning.stdout, /│ {10}│ {26}│ {16}│ \/swarm\/topic +│ default-topic +│ hall-3 +│/)
  assert.ok(!whileRunning.stdout.includes(key))
  assert.deepEqual((await json('settings', 'history', '--limit', '1')).result, result.slice(0, 1))
  for (const limit of ['0', '1001', 'x']) assert.equal((await human('settings', 'history', '--limit', limit)).code, 2)
  const unknown = await human('settings', 'rollback', '9')
  assert.match(unknown.stderr, /no revision 9 of the settings\.\nNext: shoal settings history --working-dir \S+\n$/)
  run.kill('SIGTERM')
  await run.ended
  assert.deepEqual((await json('settings', 'history')).result, result)
  assert.equal((await human('settings', 'history')).stdout, whileRunning.stdout)
})

test('a dry run says what would change and how it applies, and stores nothing', async (t) => {
  const { run, human, json } = await running(t)
  await human('settings', 'set', '/admin/displayName', 'Press 7')
  const key = Buffer.alloc(32, 7).toString('base64')
  const wanted = JSON.stringify({ swarm: { topic: 'hall-3', swarmKey: key }, admin: { displayName: 'Press 8' } })
  const shown = async (applies: readonly [name: string, key: string, topic: string]): Promise<void> => {
    const { code, stdout, stderr } = await human('settings', 'set', '/', wanted, '--dry-run')
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Nothing was stored\. Of revision 1 this would change:\n/)
    const cells = stdout.split('\n').map((line) => line.split('│').map((cell) => cell.trim()))
    const rows = cells.filter(({ length }) => length > 1).map((row) => row.slice(1, -1))
    assert.deepEqual(rows.slice(1).sort(), [
      ['/admin/displayName', 'Press 7', 'Press 8', applies[0]],
      ['/swarm/swarmKey', publicSwarmKey, '(hidden)', applies[1]],
      ['/swarm/topic', 'default-topic', 'hall-3', applies[2]],
    ])
  }
  await shown(['at once', 'at once: the swarm restarts', 'at once: the node changes to the topic'])
  const unset = (await json('settings', 'unset', '/admin', '--dry-run')).result
  const change = { path: '/admin/displayName', before: 'Press 7', after: 'Default Node' }
  assert.deepEqual([unset.revision, unset.changes, unset.applied.live], [1, [change], [change.path]])
  assert.deepEqual((await json('settings', 'rollback', '0', '--dry-run')).result.changes, [change])
  const same = await human('settings', 'set', '/admin/displayName', 'Press 7', '--dry-run')
  assert.deepEqual([same.code, same.stdout], [0, 'Nothing would change.\n'])
  const invalid = await human('settings', 'set', '/swarm/topic', '7', '--dry-run')
  assert.equal(invalid.code, 1)
  assert.match(invalid.stderr, /^\[ERR_SETTINGS_INVALID\]/)
  run.kill('SIGTERM')
  await run.ended
  await shown(['with the next start', 'with the next start', 'with the next start'])
  assert.deepEqual((await json('settings', 'unset', '/admin', '--dry-run')).result.changes, [change])
  assert.deepEqual((await json('settings', 'get', '/', '--no-defaults')).result, { admin: { displayName: 'Press 7' } })
})

test('a change for another revision than the one in force is refused, and says how to see what has changed', async (t) => {
  const { run, human } = await running(t)
  const set = (name: string, revision: string) =>
    human('settings', 'set', '/admin/displayName', name, '--if-revision', revision)
  const refuses = async (revision: string): Promise<void> => {
    const { code, stderr } = await set('late', revision)
    assert.equal(code, 1)
    assert.match(stderr, /^\[ERR_SETTINGS_CONFLICT\] Error: .*\nNext: shoal settings history --working-dir \S+\n$/)
  }
  assert.equal((await set('one', '0')).code, 0)
  await refuses('0')
  assert.equal((await set('two', '1')).code, 0)
  assert.equal((await set('x', 'newest')).code, 2)
  run.kill('SIGTERM')
  await run.ended
  await refuses('1')
  assert.equal((await set('three', '2')).code, 0)
})

test('settings local on a running node names the command to type', async (t) => {
  const { folder, human } = await running(t)
  const hints: [string[], string][] = [
    [['get', '/', '--no-defaults'], 'get / --no-defaults'],
    [['set', '/admin/displayName', 'Press 7'], `set /admin/displayName 'Press 7'`],
    [['unset', '/swarm'], 'unset /swarm'],
    [['rollback', '0'], 'rollback 0'],
  ]
  for (const [args, command] of hints) {
    const { code, stderr } = await human('settings', 'local', ...args)
    assert.equal(code, 1)
    assert.ok(stderr.includes(`type \`shoal settings ${command} --working-dir ${folder}\``), stderr)
  }
})

test('bad input is refused in the same words by a running and a stopped node', async (t) => {
  const { run, human } = await running(t)
  const inputs: [args: string[], code: number, message: RegExp][] = [
    [['settings', 'get', 'swarm'], 2, /Scope \[swarm\] cannot be parsed/],
    [['settings', 'get', '/a//b'], 2, /contains empty parts/],
    [['settings', 'get', '/nothing'], 1, /^\[ERR_SETTINGS_NOT_FOUND_AT_SCOPE\] Error: No settings found at/],
    [['settings', 'set', '/swarm/topic', '""'], 1, /^\[ERR_SETTINGS_INVALID\] Error: Validation failed\.\n\tErrors:/],
    [['settings', 'set', '/swarm/topic', '{'], 1, /^\[ERR_INVALID_INPUT\] Error: The value is neither JSON nor YAML/],
    [['settings', 'set', '/swarm/topic', '@missing'], 1, /cannot read `missing`/],
    [['settings', 'rollback', 'x'], 1, /^\[ERR_INVALID_INPUT\] Error: 'x' is not a revision/],
    [['settings', 'rollback', '9'], 1, /^\[ERR_SETTINGS_REVISION_UNKNOWN\] Error: There is no revision 9/],
    [['store', 'forget-stream', 'x'], 2, /'x' is not a stream ID/],
  ]
  const refused = async (): Promise<void> => {
    for (const [args, code, message] of inputs) {
      const ended = await human(...args)
      assert.equal(ended.code, code, ended.stderr)
      assert.match(ended.stderr, message)
      assert.equal(ended.stdout, '')
    }
  }
  await refused()
  run.kill('SIGTERM')
  await run.ended
  await refused()
})

test('a folder without a node is refused by name', async (t) => {
  const missing = commands(t)
  const other = commands(t, temporaryFolder(t))
  for (const args of [
    ['settings', 'get', '/'],
    ['settings', 'unset', '/'],
    ['store', 'stats'],
  ]) {
    const message = `${missing.folder} does not exist`
    assert.deepEqual(await missing.json(...args), { code: 'ERR_INVALID_INPUT', message })
    const { code, stderr } = await other.human(...args)
    assert.equal(code, 1)
    assert.match(stderr, /is no data directory of shoal; `shoal settings local init` makes one/)
  }
})

test('stats and forget-stream work on a running and on a stopped node', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const [first, second] = [await addForeignStream(t, folder), await addForeignStream(t, folder)]
  const { run, human, json } = await running(t, folder)
  const live = await human('store', 'stats')
  assert.equal(live.code, 0)
  assert.match(live.stdout, /^topic 'default-topic': 8 events, \d+ bytes/)
  assert.ok(live.stdout.includes(first) && live.stdout.includes(second))
  assert.deepEqual((await json('store', 'forget-stream', first)).result, { stream: first, forgotten: true })
  const again = await human('store', 'forget-stream', first)
  assert.equal(again.code, 0)
  assert.match(again.stdout, /^There is no stream .*: nothing was removed\. `shoal store stats/)
  const [{ streams }] = (await json('store', 'stats')).result
  const ownStream = streams.find(({ stream }: { stream: string }) => stream !== second).stream
  const refusal = /^\[ERR_INVALID_INPUT\] Error: A stream of this node cannot be forgotten/
  assert.match((await human('store', 'forget-stream', ownStream)).stderr, refusal)
  run.kill('SIGTERM')
  await run.ended
  assert.match((await human('store', 'forget-stream', ownStream)).stderr, refusal)
  const removed = await human('store', 'forget-stream', second)
  assert.equal(removed.stdout.split('.')[0], `Removed all events of the stream ${second.split('.')[0]}`)
  assert.deepEqual((await json('store', 'forget-stream', second)).result, { stream: second, forgotten: false })
  const stopped = (await json('store', 'stats')).result
  assert.deepEqual(
    stopped[0].streams.map(({ stream }: { stream: string }) => stream),
    [ownStream],
  )
  assert.equal((await human('store', 'verify')).code, 0)
})

test('commands reach a node whose data folder has a long path', async (t) => {
  const { run, human } = await running(t, join(temporaryFolder(t), 'x'.repeat(130), 'data'))
  const [, socket = ''] = await run.logged(/INFO control: The control socket is `(.*?)`.*too long for a socket/)
  assert.equal((await human('settings', 'set', '/admin/displayName', 'far')).code, 0)
  await run.logged(/NODE_SETTINGS_CHANGED/)
  run.kill('SIGTERM')
  assert.equal((await run.ended).code, 0)
  assert.ok(!existsSync(dirname(socket)), 'a stopped node removes the folder of its socket')
})

test('commands work on the folder of a killed node, and reach the one that is started after it', async (t) => {
  const { run, folder, human } = await running(t)
  run.kill('SIGKILL')
  await run.ended
  assert.equal((await human('settings', 'set', '/admin/displayName', 'killed')).code, 0)
  const next = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  await next.api()
  assert.equal((await human('settings', 'set', '/admin/displayName', 'alive')).code, 0)
  await next.logged(/NODE_SETTINGS_CHANGED/)
})

test('a command that is typed while the node starts or stops is not refused', async (t) => {
  const { folder, human, json } = commands(t)
  await human('settings', 'local', 'init')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  const during = async (): Promise<void> => {
    for (const name of ['one', 'two']) {
      const { code, message } = await json('settings', 'set', '/admin/displayName', name)
      assert.equal(code, 'OK', message)
    }
  }
  // Before that, the command may have the folder, and the start is refused.
  await run.logged(/API_BOUND/)
  await Promise.all([during(), run.logged(/NODE_STARTED_BY_HOST/)])
  const stopping = during()
  run.kill('SIGTERM')
  await Promise.all([stopping, run.ended])
  assert.equal((await json('settings', 'get', '/admin/displayName')).result, 'two')
})

test('new-identity needs a stopped node and a confirmation, and keeps the events', async (t) => {
  const { run, folder, human, json } = await running(t)
  const refused = await human('store', 'new-identity', '--yes')
  assert.equal(refused.code, 1)
  assert.ok(refused.stderr.includes(`\`kill ${run.child.pid}\``), refused.stderr)
  assert.ok(refused.stderr.includes(`type \`shoal store new-identity --working-dir ${folder}\` again`), refused.stderr)
  run.kill('SIGTERM')
  await run.ended
  const unconfirmed = await human('store', 'new-identity')
  assert.equal(unconfirmed.code, 1)
  assert.match(unconfirmed.stderr, /^\[ERR_INVALID_INPUT\] Error: The node in .* Confirm it with --yes\.\n$/)
  const { result } = await json('store', 'new-identity', '--yes')
  assert.notEqual(result.nodeId, result.formerId)
  const [{ streams }] = (await json('store', 'stats')).result
  assert.deepEqual(
    streams.map(({ stream }: { stream: string }) => stream),
    [`${result.formerId}-0`],
  )
})

test('a node is stopped through its control socket, with exit code 0', async (t) => {
  const { run, folder } = await running(t)
  const { control } = await import('../support/control.ts')
  const { status, body } = await control(folder, 'POST', '/node/shutdown')
  assert.deepEqual([status, body], [202, { phase: 'stopping' }])
  const { code, stderr } = await run.ended
  assert.equal(code, 0)
  assert.match(stderr, /INFO NODE_STOPPED_BY_NODEUI: shoal was stopped\./)
})
