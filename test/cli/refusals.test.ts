import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { Journey } from '../support/journey.ts'
import { ShoalProcess, shoal, until } from '../support/process.ts'
import { RunningNode } from '../support/running-node.ts'
import { assertNamesNextCommand } from '../support/typed-commands.ts'

const stranger = new KeyPair(Buffer.alloc(32, 7)).toPrivateText()

// Refusals of the other commands: error-codes.test.ts.

test('a stream that its node ends names the command to type next', async (t) => {
  const node = await RunningNode.start(t, join(new Journey(t).folder, 'data'))
  const subscriber = new ShoalProcess(t, ['events', 'subscribe', node.folder, "FROM 'followed'"])
  await shoal(t, ['events', 'publish', node.folder, '7', '-t', 'followed'])
  await until(
    () => (subscriber.stdout.includes(': 7\n') ? true : undefined),
    () => subscriber.stderr,
    () => subscriber.child.exitCode !== null,
  )
  await node.stop()
  const { code, stderr } = await subscriber.ended
  assert.equal(code, 1)
  assert.match(stderr, /^\[ERR_\w+\] Error: .*\nNext: shoal doctor \S+\n$/)
  await assertNamesNextCommand(t, stderr)
})

test('nodes that do not answer are named with the command to type next, on stderr', async (t) => {
  const journey = new Journey(t)
  await journey.run(['users', 'keygen'], '\n')
  const { admin } = await RunningNode.start(t, join(journey.folder, 'data'))
  await journey.text('users', 'claim', admin)
  const commands = [
    ['nodes', 'ls'],
    ['topics', 'ls'],
    ['topics', 'delete', 'unknown'],
  ]
  for (const command of commands) {
    const ask = (...args: string[]) => journey.run([...command, ...args])
    const doctor = 'Next: shoal doctor 127.0.0.1:1\n'
    const unreachable = await ask(admin, '127.0.0.1:1')
    assert.deepEqual([unreachable.code, unreachable.stderr], [0, doctor])
    assert.equal((await ask(admin, '127.0.0.1:1', '--strict')).stderr, doctor)
    assert.equal((await ask(admin, '127.0.0.1:1', '--json')).stderr, '')
    assert.equal((await ask(admin)).stderr, '')
    const unauthorized = await ask(admin, 'a b', '-i', stranger)
    assert.match(unauthorized.stderr, /^Next: shoal users add-key DATA_FOLDER .*\nNext: shoal \w+ \w+ --help\n$/)
    for (const line of unauthorized.stderr.trimEnd().split('\n')) await assertNamesNextCommand(t, `\n${line}\n`)
  }
  const active = await journey.run(['topics', 'delete', 'default-topic', admin])
  assert.equal(active.stderr, 'Next: shoal topics delete --help\n')
})

test('a start that fails names the command to type next', async (t) => {
  const { folder: root } = new Journey(t)
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const used = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const free = ['--bind-api', '--bind-admin', '--bind-swarm'].flatMap((option) => [option, '127.0.0.1:0'])
  const folder = join(root, 'a b')
  const { folder: locked } = await RunningNode.start(t, join(root, 'running'))
  const cases: readonly (readonly [args: readonly string[], next: RegExp])[] = [
    [
      ['--working-dir', folder, ...free.slice(2), '--bind-api', used],
      /\nNext: shoal run --working-dir '.*\/a b' --bind-api 0 {3}# 0 is any free port\n$/,
    ],
    [['--working-dir', '/dev/null/x', ...free], /^Caused by:\n.*\nNext: shoal run --help\n$/m],
    [['--working-dir', folder, ...free, '--pid-file', join(root, 'missing/pid')], /\nNext: shoal run --help\n$/],
    [['--working-dir', locked, ...free], /`kill \d+`[\s\S]*$/],
  ]
  for (const [args, next] of cases) {
    const { code, stderr } = await shoal(t, ['run', ...args])
    assert.equal(code, 1, stderr)
    assert.match(stderr, next)
    if (stderr.includes('Next: ')) await assertNamesNextCommand(t, stderr)
  }
  const lines = (await shoal(t, ['run', '--log-json', 'on', ...(cases[0]?.[0] ?? [])])).stderr.trimEnd().split('\n')
  assert.match(JSON.parse(lines.at(-1) ?? '').message, /^Error: ERR_PORT_COLLISION: [\s\S]*\nNext: shoal run /)
})
