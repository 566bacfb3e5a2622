import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assertBelowASecond } from '../support/duration.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const oldNodePackage = `node-${process.platform}-${process.arch}`
const oldNodeVersion = '20.20.2'
const deadlineMs = 60_000

const root = realpathSync(mkdtempSync(join(tmpdir(), 'shoal-package-')))
const folders = {
  packed: join(root, 'packed'),
  old: join(root, 'old'),
  app: join(root, 'app'),
  global: join(root, 'global'),
  elsewhere: join(root, 'elsewhere'),
}
const oldNodeBin = join(folders.old, 'node_modules', oldNodePackage, 'bin')
const oldNode = join(oldNodeBin, 'node')
const installed = join(folders.app, 'node_modules', 'shoal')
const npm = npmFolder()

const machine = cleanEnvironment()
const withOldNode = { ...machine, PATH: [oldNodeBin, '/usr/bin', '/bin'].join(delimiter) }

interface Launch {
  readonly cwd: string
  readonly command: readonly [string, ...string[]]
}

const byPath: Launch = { cwd: folders.app, command: ['./node_modules/.bin/shoal'] }
const byNpx: Launch = { cwd: folders.app, command: [oldNode, join(npm, 'npx-cli.js'), '--no-install', 'shoal'] }
const installedGlobally: Launch = { cwd: folders.elsewhere, command: [join(folders.global, 'bin', 'shoal')] }
const launched = { 'by path': byPath, 'when installed globally': installedGlobally }
const ways = { ...launched, 'by npx': byNpx }

/** The source files of the package. */
let sources: string[] = []

before(async () => {
  for (const folder of Object.values(folders)) mkdirSync(folder)
  const npmCli = join(npm, 'npm-cli.js')
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline']
  const [tarball] = await Promise.all([
    pack(npmCli),
    succeed(process.execPath, [npmCli, ...install, `${oldNodePackage}@${oldNodeVersion}`], {
      cwd: folders.old,
      env: machine,
    }),
  ])
  await Promise.all([
    succeed(oldNode, [npmCli, ...install, tarball], { cwd: folders.app, env: withOldNode }),
    succeed(oldNode, [npmCli, ...install, '--global', '--prefix', folders.global, tarball], {
      cwd: folders.elsewhere,
      env: withOldNode,
    }),
  ])
})

after(() => rmSync(root, { recursive: true, force: true }))

test('the tests run with an old Node in the PATH', async () => {
  const { stdout } = await succeed('node', ['--version'], { cwd: folders.elsewhere, env: withOldNode })
  assert.equal(stdout, `v${oldNodeVersion}\n`)
})

test('the package contains exactly the required files', async () => {
  const { stdout } = await succeed('tar', ['-tzf', tarballFile()], { cwd: root, env: machine })
  const files = stdout.trim().split('\n')
  const wanted = /^package\/(bin\/(shoal|package\.json)|dist\/.+|package\.json|README(\.md)?|LICENSE(\.\w+)?)$/
  assert.deepEqual(
    files.filter((file) => !wanted.test(file)),
    [],
  )
  for (const file of ['bin/shoal', 'bin/package.json', 'package.json', 'dist/build.json'])
    assert.ok(files.includes(`package/${file}`), file)
  // Worker threads are started by file name, so their modules must be in the package.
  const threads = sources.filter((file) => file.endsWith('-thread.ts')).map((file) => basename(file, '.ts'))
  for (const entry of ['main', ...threads]) assert.ok(files.includes(`package/dist/${entry}.js`), entry)
  const types = globSync('**/*.d.ts', { cwd: join(installed, 'dist/types') })
  // Types of packages that have none are for this source only.
  const modules = sources.filter((file) => !file.endsWith('.d.ts'))
  assert.deepEqual(types.sort(), modules.map((file) => file.replace(/\.ts$/, '.d.ts')).sort())
})

test('the package contains no path of the build machine', () => {
  for (const file of globSync('**/*.{js,ts,json}', { cwd: installed }))
    assert.ok(!readFileSync(join(installed, file), 'utf8').includes(checkout.replace(/\/$/, '')), file)
})

for (const [name, way] of Object.entries(ways)) {
  test(`${name} --version prints the version`, async () => {
    const { code, stdout } = await shoal(way, '--version')
    assert.equal(code, 0)
    assert.match(stdout, /^shoal \S+-([0-9a-f]{8}|npm)-[a-z0-9]+-[a-z0-9_]+-release\n$/)
    assert.ok(stdout.startsWith(`shoal ${version}-`), stdout)
  })

  test(`${name} exit codes are passed through`, async () => {
    const folder = dataFolder()
    assert.equal((await shoal(way, 'settings', 'local', 'init', '--working-dir', folder)).code, 0)
    const failed = await shoal(way, 'settings', 'local', 'get', '/x', '--working-dir', folder)
    assert.equal(failed.code, 1, failed.stderr)
    assert.match(failed.stderr, /^\[ERR_[A-Z_]+\] Error: /m)
    assert.equal((await shoal(way, 'nonsense')).code, 2)
    assert.equal((await shoal(way, '--help')).code, 0)
  })
}

test('settings are persisted', async () => {
  const local = async (command: string, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await shoal(byPath, 'settings', 'local', command, ...args, '--working-dir', folder)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const folder = dataFolder()
  await local('init')
  await local('set', '/admin', '{displayName: Ærø, logLevels: {node: DEBUG}}')
  assert.match(await local('get', '/admin'), /^displayName: Ærø$/m)
  assert.deepEqual(JSON.parse(await local('get', '/admin/logLevels', '--json')), {
    code: 'OK',
    result: { node: 'DEBUG' },
  })
})

for (const [name, way] of Object.entries(launched)) {
  test(`${name} a node stops on SIGTERM`, async (t) => {
    await assertBelowASecond(async () => {
      const node = await start(t, way, dataFolder())
      assert.notEqual(node.pid, node.launcher.pid, 'the old Node runs the launcher, and the new one the node')
      await assertReady(node)
      const begin = performance.now()
      node.launcher.kill('SIGTERM')
      assert.deepEqual(await node.exited, { code: 0, signal: null })
      const took = performance.now() - begin
      await assertStopped(node)
      return took
    })
  })

  test(`${name} Ctrl+C counts as one stop request, although launcher and node both receive it`, async (t) => {
    const node = await start(t, way, dataFolder())
    await slowStop(t, node)
    interruptAll(node)
    assert.deepEqual(await node.exited, { code: 0, signal: null }, node.stderr())
    await assertStopped(node)
  })
}

test('by path a killed launcher kills its node', async (t) => {
  const folder = dataFolder()
  const node = await start(t, byPath, folder)
  await assertReady(node)
  node.launcher.kill('SIGKILL')
  assert.deepEqual(await node.exited, { code: null, signal: 'SIGKILL' })
  await until('the node is gone', () => !isAlive(node.pid))
  const again = await start(t, byPath, folder)
  await assertReady(again)
  assert.equal(again.nodeId, node.nodeId)
  again.launcher.kill('SIGTERM')
  assert.deepEqual(await again.exited, { code: 0, signal: null })
})

test('by npx a node stops when its process group is signalled', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const node = await start(t, byNpx, dataFolder())
    await assertReady(node)
    signalGroup(node.launcher, signal)
    // The exit code is that of npm's shell, which also receives the signal.
    await node.exited
    await assertStopped(node)
  }
})

// npm forwards SIGTERM only to its shell, which may die without forwarding it: the node has to detect that.
test('by npx a node stops when npx gets SIGTERM', async (t) => {
  const node = await start(t, byNpx, dataFolder())
  await assertReady(node)
  node.launcher.kill('SIGTERM')
  await node.exited
  await assertStopped(node, 5_000)
})

// A shell that execs the command makes the node a child of npm: it gets SIGINT from the terminal and from npm.
test('by npx Ctrl+C counts as one stop request', async (t) => {
  const [node, npx, ...rest] = byNpx.command
  const way: Launch = { ...byNpx, command: [node, npx ?? '', '--script-shell=/bin/bash', ...rest] }
  const running = await start(t, way, dataFolder())
  await slowStop(t, running)
  interruptAll(running)
  await running.exited
  await assertStopped(running, 5_000)
})

test('without the bundled Node, an old Node prints what to install', async () => {
  const bare = join(root, 'bare', 'shoal')
  cpSync(installed, bare, { recursive: true })
  const { code, stdout, stderr } = await shoal({ cwd: root, command: [join(bare, 'bin', 'shoal')] }, '--version')
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(stderr, new RegExp(`needs Node\\.js 24 or later, and this is v${oldNodeVersion.replaceAll('.', '\\.')}`))
  assert.match(stderr, /[Ii]nstall .*Node\.js 24/)
})

/** The folder of npm-cli.js and npx-cli.js: of the npm that runs this, or of the first one in the PATH. */
function npmFolder(): string {
  const inPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'npm'))
  for (const place of [process.env['npm_execpath'] ?? '', ...inPath]) {
    if (!existsSync(place)) continue
    const folder = dirname(realpathSync(place))
    if (existsSync(join(folder, 'npm-cli.js')) && existsSync(join(folder, 'npx-cli.js'))) return folder
  }
  throw new Error('There is no npm in the PATH.')
}

/** The environment without the variables of npm, the test runner and shoal, except those of the npm registry. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = new Set(['npm_config_registry', 'npm_config_cache', 'npm_config_userconfig'])
  const unwanted = /^(npm_.*|SHOAL_.*|ACTYX_.*|RUST_LOG|INIT_CWD|NODE|NODE_(OPTIONS|PATH|TEST_CONTEXT))$/i
  const entries = Object.entries(process.env).filter(([name]) => kept.has(name) || !unwanted.test(name))
  return { ...Object.fromEntries(entries), SHOAL_STANDALONE: '1' }
}

async function pack(npmCli: string): Promise<string> {
  await succeed(process.execPath, [npmCli, 'pack', '--pack-destination', folders.packed], {
    cwd: checkout,
    env: machine,
  })
  sources = globSync('**/*.ts', { cwd: join(checkout, 'src') })
  return tarballFile()
}

function tarballFile(): string {
  return join(folders.packed, `shoal-${version}.tgz`)
}

function dataFolder(): string {
  return mkdtempSync(join(root, 'data-'))
}

interface SpawnOptions {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function call(file: string, args: readonly string[], where: SpawnOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { ...where, timeout: 2 * deadlineMs, killSignal: 'SIGKILL' as const }
    const child = execFile(file, args, options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

async function succeed(file: string, args: readonly string[], where: SpawnOptions): Promise<Outcome> {
  const outcome = await call(file, args, where)
  assert.equal(outcome.code, 0, `${[file, ...args].join(' ')}\n${outcome.stdout}\n${outcome.stderr}`)
  return outcome
}

function shoal({ cwd, command: [file, ...first] }: Launch, ...args: string[]): Promise<Outcome> {
  return call(file, [...first, ...args], { cwd, env: withOldNode })
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface Running {
  readonly launcher: ChildProcess
  readonly exited: Promise<Exit>
  readonly stderr: () => string
  readonly nodeId: string
  readonly pid: number
  readonly api: readonly string[]
}

/** Starts a node in its own process group, as a terminal does; killed at the end of the test. */
async function start(t: TestContext, { cwd, command: [file, ...first] }: Launch, folder: string): Promise<Running> {
  const args = [...first, 'run', '--random', '--print-addresses', '--log-color', 'off', '--working-dir', folder]
  const launcher = spawn(file, args, { cwd, env: withOldNode, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => signalGroup(launcher, 'SIGKILL'))
  const stdout = textOf(launcher.stdout)
  const stderr = textOf(launcher.stderr)
  const exited = once(launcher, 'exit').then(([code, signal]): Exit => ({ code, signal }))
  await until('the node prints its addresses', () => {
    assert.ok(isRunning(launcher), `ended: ${stderr()}`)
    return stdout().includes('\n')
  })
  const printed = JSON.parse(stdout()) as Pick<Running, 'nodeId' | 'pid' | 'api'>
  return { launcher, exited, stderr, ...printed }
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    text += chunk
  })
  return () => text
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

/** Signals a process group. Its ID is the PID of its first process, and stays valid while any of its processes runs. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
  }
}

function interruptAll({ launcher }: Running): void {
  signalGroup(launcher, 'SIGINT')
}

async function assertReady({ api: [address], nodeId }: Running): Promise<void> {
  assert.equal((await fetch(`http://${address}/readyz`)).status, 200)
  assert.equal(await (await fetch(`http://${address}/api/v2/node/id`)).text(), nodeId)
}

async function assertStopped({ pid, api, stderr }: Running, within = deadlineMs): Promise<void> {
  await until('the node is gone', () => !isAlive(pid), within)
  for (const address of api) await assert.rejects(connected(address), { code: 'ECONNREFUSED' })
  await until('the stop is logged', () => stderr().includes('NODE_STOPPED_BY_HOST'), within)
}

/** Delays the shutdown with an unfinished request, so that a second signal would arrive during it. */
async function slowStop(t: TestContext, { api: [address = ''] }: Running): Promise<void> {
  const socket = await connected(address)
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  // The response to the first request shows that the node has read the start of the second.
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n')
  await once(socket, 'data')
}

async function connected(address: string): Promise<Socket> {
  const { hostname, port } = new URL(`http://${address}`)
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
  await once(socket, 'connect')
  return socket
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return !isZombie(pid)
}

/** An orphan stays a zombie until init reaps it, which in containers can take long. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

async function until(what: string, condition: () => boolean, within = deadlineMs): Promise<void> {
  for (const end = performance.now() + within; !condition(); await sleep(10))
    assert.ok(performance.now() < end, `timed out waiting until ${what}`)
}
