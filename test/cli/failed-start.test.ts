import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess, shoal } from '../support/process.ts'

/** Options that bind components to free ports. */
function freePorts(...options: string[]): string[] {
  return options.flatMap((option) => [option, '127.0.0.1:0'])
}

async function portInUse(t: TestContext): Promise<number> {
  const server = createServer()
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

const options = ['--bind-api', '--bind-admin', '--bind-swarm'] as const

for (const option of options)
  test(`a port in use for ${option} leaves no new data folder or parent folder behind`, async (t) => {
    const root = temporaryFolder(t)
    const port = await portInUse(t)
    const others = freePorts(...options.filter((other) => other !== option))
    const args = ['run', '--working-dir', join(root, 'a', 'b'), option, `127.0.0.1:${port}`, ...others]
    const { code, stderr } = await shoal(t, args)
    assert.equal(code, 1)
    assert.match(stderr, /ERR_PORT_COLLISION/)
    assert.deepEqual(readdirSync(root), [])
  })

test('a failed start does not remove an existing data folder', async (t) => {
  const folder = temporaryFolder(t)
  assert.equal((await shoal(t, ['settings', 'local', 'init', '--working-dir', folder])).code, 0)
  const port = await portInUse(t)
  const args = ['--bind-api', `127.0.0.1:${port}`, ...freePorts('--bind-admin', '--bind-swarm')]
  assert.equal((await shoal(t, ['run', '--working-dir', folder, ...args])).code, 1)
  assert.ok(existsSync(join(folder, 'node.db')))
})

test('a data folder that cannot be created leaves no parent folders behind', async (t) => {
  const root = temporaryFolder(t)
  const folder = join(root, 'a', 'x'.repeat(300))
  const { code, stderr } = await shoal(t, ['run', '--random', '--working-dir', folder])
  assert.equal(code, 1)
  assert.match(stderr, /Error: cannot create the data directory .*\nCaused by:\n {4}ENAMETOOLONG/)
  assert.deepEqual(readdirSync(root), [])
})

for (const command of [
  ['run', '--random', '--working-dir', '/proc/x'],
  ['settings', 'local', 'init', '--working-dir', '/proc/x/y'],
])
  test(`${command.join(' ')} fails at once`, {
    skip: !existsSync('/proc/self') && 'there is no /proc',
    timeout: 60_000,
  }, async (t) => {
    const { code, stderr } = await shoal(t, command)
    assert.equal(code, 1)
    assert.match(stderr, /cannot create the data directory `\/proc\/x.*`\nCaused by:\n {4}ENOENT/)
  })

test('two options with overlapping addresses are both named, and no data folder is created', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const cases: [string[], RegExp][] = [
    [['--bind-api', '5000', '--bind-admin', '5000'], /--bind-api and --bind-admin both name 127\.0\.0\.1:5000\./],
    [['--bind-api', '[::1]:5000', '--bind-admin', '5000'], /--bind-api and --bind-admin both name \[::1\]:5000\./],
    [
      ['--bind-swarm', '5000', '--bind-admin', '10.0.0.7:5000'],
      /--bind-admin and --bind-swarm overlap: 10\.0\.0\.7:5000 and 0\.0\.0\.0:5000\./,
    ],
    [['--bind-swarm', 'some.host:4454', '--bind-api', 'some.host'], /--bind-api and --bind-swarm both name some\.host/],
  ]
  for (const [args, message] of cases) {
    const { code, stderr } = await shoal(t, ['run', '--working-dir', folder, ...args])
    assert.equal(code, 2, stderr)
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /another process/)
  }
  assert.ok(!existsSync(folder))
})

test('commands on the data folder of a running node name its PID and how to stop it', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  mkdirSync(folder)
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  await run.api()
  for (const command of [
    ['settings', 'local', 'get', '/'],
    ['run', '--random'],
  ]) {
    const { code, stderr } = await shoal(t, [...command, '--working-dir', folder])
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`locked by another shoal process \\(PID ${run.child.pid}\\): a node is running`))
    assert.match(stderr, new RegExp(`Ctrl\\+C in its terminal or \`kill ${run.child.pid}\``))
    assert.match(stderr, /--working-dir, or talk to the running node over HTTP/)
  }
})
