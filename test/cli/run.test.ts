import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type NodeId, peerIdOf, publicKeyOf } from '../../src/identity/index.ts'
import { assertBelowASecond } from '../support/duration.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess, shoal, until } from '../support/process.ts'

const escapes = new RegExp(`${String.fromCharCode(27)}\\[`)

/** Runs a node on free ports. */
function node(t: TestContext, folder: string, ...more: string[]): ShoalProcess {
  return new ShoalProcess(t, ['run', '--random', '--working-dir', folder, ...more])
}

async function text(url: string): Promise<string> {
  return await (await fetch(url)).text()
}

async function occupiedPort(t: TestContext): Promise<number> {
  const server: Server = createServer()
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

test('a node starts without preparation, logs its addresses, serves requests, and stops on SIGTERM', async (t) => {
  const folder = join(temporaryFolder(t), 'with', 'parents')
  const run = node(t, folder)
  const api = await run.api()
  assert.match(run.stderr, /^using data directory `.*parents`\n/)
  for (const line of [
    /API_BOUND: API bound to 127\.0\.0\.1:\d+\.\n/,
    /ADMIN_API_BOUND: Admin API bound to \/ip4\/127\.0\.0\.1\/tcp\/\d+\.\n/,
    /SWARM_SERVICES_BOUND: Swarm Services bound to \/ip4\/0\.0\.0\.0\/tcp\/\d+\.\n/,
    /NODE_STARTED_BY_HOST: shoal 3\.\S+ is running\.\n/,
  ])
    assert.match(run.stderr, line)
  assert.match(await text(`${api}/api/v2/node/id`), /^[./0-9A-Za-z]{43}$/)
  run.kill('SIGTERM')
  const { code, stderr } = await run.ended
  assert.equal(code, 0)
  assert.match(stderr, /NODE_STOPPED_BY_HOST/)
})

/** Stops a node; returns the duration of the shutdown in milliseconds. */
async function stopping(run: ShoalProcess): Promise<number> {
  const asked = performance.now()
  run.kill('SIGTERM')
  assert.equal((await run.ended).code, 0)
  return performance.now() - asked
}

test('SIGTERM stops a node within a second', (t) =>
  assertBelowASecond(async () => {
    const run = node(t, temporaryFolder(t))
    await run.api()
    return stopping(run)
  }))

for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP'] as const)
  test(`${signal} stops a node with exit code 0`, async (t) => {
    const run = node(t, temporaryFolder(t))
    await run.api()
    run.kill(signal)
    assert.equal((await run.ended).code, 0)
  })

test('the node ID survives restarts and SIGKILL, and the start counter increments', async (t) => {
  const folder = temporaryFolder(t)
  const ids: string[] = []
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const) {
    const run = node(t, folder)
    ids.push(await text(`${await run.api()}/api/v2/node/id`))
    run.kill(signal)
    await run.ended
  }
  assert.equal(new Set(ids).size, 1)
  const database = new DatabaseSync(join(folder, 'node.db'), { readOnly: true })
  t.after(() => database.close())
  assert.equal(database.prepare("SELECT value FROM node WHERE name = 'cycles'").get()?.['value'], 3)
})

test('a node killed at any point of its first start starts the next time', async (t) => {
  const folder = temporaryFolder(t)
  for (let round = 0; round < 8; round++) {
    const run = node(t, folder)
    const moments = [/using data/, /API bound/, /Swarm Services/, /is running/]
    await run.logged(moments[round % moments.length] ?? /./)
    run.kill('SIGKILL')
    await run.ended
  }
  const last = node(t, folder)
  assert.match(await text(`${await last.api()}/api/v2/node/id`), /^[./0-9A-Za-z]{43}$/)
})

test('SIGTERM at any point of the start causes a graceful shutdown with exit code 0', async (t) => {
  const moments = [
    /using data directory/,
    /API bound/,
    /Admin API bound/,
    /Swarm Services bound/,
    /NODE_STARTED_BY_HOST/,
  ]
  for (const moment of moments) {
    const run = node(t, temporaryFolder(t))
    // No polling: the signal has to arrive together with the line.
    await new Promise<void>((resolve) => {
      run.child.stderr?.on('data', () => {
        if (moment.test(run.stderr)) resolve()
      })
    })
    run.kill('SIGTERM')
    const { code, stderr } = await run.ended
    assert.equal(code, 0, `${moment} ${stderr}`)
    assert.match(stderr, /NODE_STOPPED_BY_HOST/)
  }
})

test('of many nodes that start at once on one data folder, one runs and the others exit with 1', async (t) => {
  const folder = temporaryFolder(t)
  const runs = Array.from({ length: 8 }, () => node(t, folder))
  const refused = runs.map((run) => run.ended.then(({ code }) => code))
  const running = await Promise.any(runs.map(async (run) => run.api().then(() => run)))
  assert.deepEqual(await Promise.all(refused.filter((_, i) => runs[i] !== running)), Array(7).fill(1))
})

test('an uncaught exception is logged with its stack trace, and shuts the node down with exit code 1', async (t) => {
  const defects = ["() => { throw new Error('boom') }", "() => { Promise.reject(new Error('boom')) }"]
  for (const defect of defects) {
    const folder = temporaryFolder(t)
    const preload = `data:text/javascript,process.on('SIGUSR2', ${defect})`
    const env = { NODE_OPTIONS: `--import "${preload}"` }
    const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder], { env })
    await run.api()
    run.kill('SIGUSR2')
    const { code, stderr } = await run.ended
    assert.equal(code, 1)
    assert.match(stderr, /ERROR.* panic: Error: boom\n {8,}at /)
    assert.match(stderr, /ERROR.* NODE_STOPPED_BY_NODE/)
  }
})

test('a second node on the same data folder fails with the lock, and the first keeps running', async (t) => {
  const folder = temporaryFolder(t)
  const first = node(t, folder)
  const api = await first.api()
  const second = await node(t, folder).ended
  assert.equal(second.code, 1)
  assert.match(second.stderr, new RegExp(`Error: data directory \`${folder}\` is locked by another shoal process`))
  assert.equal((await fetch(`${api}/healthz`)).status, 200)
})

test('everything in the data folder is private to its owner', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const run = node(t, folder)
  await run.api()
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  assert.ok(names.some((name) => name.startsWith('topics/')))
  for (const name of names) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name)
})

const bindOptions = [
  ['API', '--bind-api'],
  ['Admin', '--bind-admin'],
  ['Swarm', '--bind-swarm'],
] as const

for (const [component, option] of bindOptions)
  test(`a port in use for ${component} fails with the name of the component and the option`, async (t) => {
    const port = await occupiedPort(t)
    const others = bindOptions.filter(([name]) => name !== component).flatMap(([, other]) => [other, '127.0.0.1:0'])
    const folder = temporaryFolder(t)
    const ended = await shoal(t, ['run', '--working-dir', folder, option, `127.0.0.1:${port}`, ...others])
    assert.equal(ended.code, 1)
    assert.match(
      ended.stderr,
      new RegExp(
        `Error: ERR_PORT_COLLISION: ${component} cannot listen on 127\\.0\\.0\\.1:${port}: port ${port} .*${option}`,
      ),
    )
    assert.match(ended.stderr, /Caused by:\n {4}listen EADDRINUSE/)
    // The lock is released.
    const run = node(t, folder)
    await run.api()
  })

test('an address of another machine fails with the name of the option', async (t) => {
  const ended = await shoal(t, ['run', '--working-dir', temporaryFolder(t), '--bind-api', '192.0.2.1:0'])
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /API cannot listen on 192\.0\.2\.1:0.*--bind-api/)
})

test('bind options are repeatable, and a port alone binds to loopback for API and admin', async (t) => {
  const args = [
    '--bind-api',
    '127.0.0.1:0',
    '--bind-api',
    '/ip4/127.0.0.1/tcp/0',
    '--bind-admin',
    '0',
    '--bind-swarm',
    '0',
  ]
  const run = new ShoalProcess(t, ['run', '--working-dir', temporaryFolder(t), '--print-addresses', ...args])
  await run.api()
  const line = await until(
    () => (run.stdout.endsWith('\n') ? run.stdout : undefined),
    () => 'no addresses',
  )
  const { api, admin, swarm, nodeId, peerId, pid } = JSON.parse(line) as {
    api: string[]
    admin: string[]
    swarm: string[]
    nodeId: NodeId
    peerId: string
    pid: number
  }
  assert.equal(api.length, 2)
  assert.equal(peerId, peerIdOf(publicKeyOf(nodeId)))
  for (const address of api) assert.equal(await text(`http://${address}/api/v2/node/id`), nodeId)
  for (const address of admin) assert.match(address, /^(127\.0\.0\.1|\[::1\]):[1-9]/)
  assert.match(swarm[0] ?? '', /^0\.0\.0\.0:[1-9]/)
  assert.equal(pid, run.child.pid)
})

test('the --api-host option that a 403 suggests works, with and without the port', async (t) => {
  const send = (api: string, host: string): Promise<string> => {
    const { hostname, port } = new URL(api)
    return new Promise((resolve, reject) => {
      const outgoing = request({ hostname, port, path: '/healthz', headers: { host }, agent: false }, (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk
        })
        response.on('end', () => resolve(`${response.statusCode} ${body}`))
      })
      outgoing.on('error', reject).end()
    })
  }
  const first = node(t, temporaryFolder(t))
  const refused = await send(await first.api(), 'press.example:4454')
  assert.match(
    refused,
    /^403 .*'press\.example:4454' are not answered\. `shoal run --api-host press\.example` allows it/,
  )
  assert.match(await send(await first.api(), 'a$(b)'), /^403 .*--api-host <name>/)
  for (const value of ['press.example', 'press.example:4454', 'http://press.example:4454/']) {
    const run = node(t, temporaryFolder(t), '--api-host', value)
    assert.match(await send(await run.api(), 'press.example:4454'), /^200 /, value)
    run.kill('SIGTERM')
    await run.ended
  }
})

test('invalid options end with exit code 2 and the allowed values, and create nothing', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const wrong: [string[], RegExp][] = [
    [['--bind-api', '1', '--bind-api', '2'], /--bind-api: Multiple single port directives not supported/],
    [
      ['--bind-swarm', '1', '--bind-swarm', 'localhost:2'],
      /Both port directive and host:port combination not supported/,
    ],
    [['--bind-admin', '65536'], /'65536' is not a port/],
    [['--bind-admin', 'a b'], /'a b' is not a host/],
    [['--log-color', 'maybe'], /--log-color: 'maybe' is not allowed\. Allowed: 1, on/],
    [['--log-json', ''], /--log-json: '' is not allowed\./],
    [['--api-host', 'a b'], /--api-host: 'a b' is not a host name\. Allowed: a name like/],
    [['--cors-origins', 'app.example'], /--cors-origins: 'app\.example' is not an origin\./],
    [['--naming-domain', 'a/b'], /--naming-domain: 'a\/b' is not a host name/],
    [['--nonsense'], /unknown option '--nonsense'\nType `shoal run --help` for commands, options and examples\./],
    [['--working-dir', ''], /--working-dir is empty/],
    [['more'], /too many arguments/],
  ]
  for (const [args, message] of wrong) {
    const ended = await shoal(t, ['run', '--working-dir', folder, ...args])
    assert.equal(ended.code, 2, ended.stderr)
    assert.match(ended.stderr, message)
  }
  assert.ok(!existsSync(folder))
})

test('a data folder that cannot be created fails with the cause', async (t) => {
  const file = join(temporaryFolder(t), 'file')
  writeFileSync(file, '')
  const ended = await node(t, join(file, 'data')).ended
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /Error: cannot create the data directory `.*`\nCaused by:\n {4}ENOTDIR/)
})

test('a data folder of a later version is rejected and not changed', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'shoal.json'), '{"product":"shoal","format":999}')
  writeFileSync(join(folder, 'node.db'), 'of the future')
  const ended = await node(t, folder).ended
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /Detected future version 999/)
  assert.equal(readFileSync(join(folder, 'node.db'), 'utf8'), 'of the future')
  assert.equal(readFileSync(join(folder, 'shoal.json'), 'utf8'), '{"product":"shoal","format":999}')
})

test('a data folder of the reference system is rejected and not changed', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'node.sqlite'), 'theirs')
  const ended = await node(t, folder).ended
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /holds the data of an Actyx node/)
  assert.deepEqual(readdirSync(folder), ['node.sqlite'])
})

test('a damaged node database is reported, and not overwritten', async (t) => {
  const folder = temporaryFolder(t)
  const first = node(t, folder)
  await first.api()
  first.kill('SIGTERM')
  await first.ended
  writeFileSync(join(folder, 'node.db'), 'rubbish '.repeat(1000))
  const ended = await node(t, folder).ended
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /Error: `.*node\.db` cannot be used: file is not a database/)
  assert.match(readFileSync(join(folder, 'node.db'), 'utf8'), /^rubbish/)
})

test('the data folder is --working-dir, else SHOAL_PATH, else ACTYX_PATH, else ./shoal-data', async (t) => {
  const folder = temporaryFolder(t)
  const cases: [string[], NodeJS.ProcessEnv, string][] = [
    [['--working-dir', join(folder, 'option')], { SHOAL_PATH: join(folder, 'env') }, 'option'],
    [[], { SHOAL_PATH: join(folder, 'env'), ACTYX_PATH: join(folder, 'old') }, 'env'],
    [[], { SHOAL_PATH: '', ACTYX_PATH: join(folder, 'old') }, 'old'],
    [[], {}, 'shoal-data'],
  ]
  for (const [args, env, expected] of cases) {
    const run = new ShoalProcess(t, ['run', '--random', ...args], { cwd: folder, env })
    await run.api()
    run.kill('SIGTERM')
    await run.ended
    assert.ok(existsSync(join(folder, expected, 'node.db')), expected)
    rmSync(join(folder, expected), { recursive: true })
  }
})

test('with --log-json every line is JSON with timestamp, level, target and message', async (t) => {
  const run = node(t, temporaryFolder(t), '--log-json', 'on')
  await run.logged(/NODE_STARTED_BY_HOST/)
  run.kill('SIGTERM')
  const lines = (await run.ended).stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>)
  assert.match(lines[0]?.['message'] ?? '', /^using data directory/)
  for (const { timestamp = '', level = '', target, message } of lines) {
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    assert.match(level, /^(ERROR|WARN|INFO|DEBUG)$/)
    assert.ok(target && message)
  }
  assert.deepEqual(
    lines.filter(({ target }) => target?.endsWith('_BY_HOST')).map(({ target }) => target),
    ['NODE_STARTED_BY_HOST', 'NODE_STOPPED_BY_HOST'],
  )
})

test('with --log-json a failed start is JSON too', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'shoal.json'), '{}')
  const { code, stderr } = await node(t, folder, '--log-json', 'true').ended
  assert.equal(code, 1)
  const last = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as Record<string, string>
  assert.match(last['message'] ?? '', /^Error: .*is not the manifest/)
})

test('with --json a started node prints its addresses as result', async (t) => {
  const run = new ShoalProcess(t, ['--json', 'run', '--random', '--working-dir', temporaryFolder(t)])
  await run.api()
  run.kill('SIGTERM')
  const { stdout } = await run.ended
  const { code, result } = JSON.parse(stdout) as { code: string; result: { api: string[]; pid: number } }
  assert.deepEqual([code, result.pid], ['OK', run.child.pid])
  assert.match(run.stderr, new RegExp(`API bound to ${result.api[0]}`))
})

test('with --json a failed start prints its error to stdout', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'shoal.json'), '{}')
  const { code, stdout } = await node(t, folder, '--json').ended
  assert.equal(code, 1)
  const error = JSON.parse(stdout) as { code: string; message: string }
  assert.equal(error.code, 'ERR_INVALID_NODE_STATE')
  assert.match(error.message, /is not the manifest/)
})

test('a log in a pipe is coloured only by --log-color or an environment variable of shoal', async (t) => {
  const cases: [string[], NodeJS.ProcessEnv, boolean][] = [
    [[], {}, false],
    [['--log-color', 'on'], {}, true],
    [['--log-color', 'on'], { NO_COLOR: '1' }, true],
    [[], { SHOAL_LOG_COLOR: 'on', NO_COLOR: '1' }, true],
    [['--log-color', 'OFF'], {}, false],
    [['--log-color', 'auto'], {}, false],
    [['--log-color', '1'], { SHOAL_COLOR: '0' }, true],
    [[], { SHOAL_COLOR: 'false' }, false],
    [[], { SHOAL_LOG_COLOR: '0' }, false],
    [[], { ACTYX_COLOR: 'off' }, false],
  ]
  for (const [args, env, coloured] of cases) {
    const run = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t), ...args], { env })
    await run.logged(/\n/)
    run.kill('SIGTERM')
    assert.equal(escapes.test((await run.ended).stderr), coloured, JSON.stringify([args, env]))
  }
})

test('SHOAL_LOG_JSON=auto writes JSON without a TTY', async (t) => {
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t)], {
    env: { SHOAL_LOG_JSON: 'auto' },
  })
  await run.logged(/"target":"NODE_STARTED_BY_HOST"/)
})

test('SHOAL_LOG overrides the log level of the settings, and is logged', async (t) => {
  const folder = temporaryFolder(t)
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder], {
    env: { SHOAL_LOG: 'api=debug,info' },
  })
  const api = await run.api()
  await run.logged(/INFO.* settings: A log filter of the environment or of --verbose is in force/)
  await fetch(`${api}/healthz`)
  await run.logged(/DEBUG.* api: request method=GET path=\/healthz status=200 remote=\S+ userAgent=\S+ elapsedMs=/)
  assert.doesNotMatch(run.stderr, /DEBUG.* node:/)
})

test('--pid-file contains the process ID while the node runs', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'pid')
  const run = node(t, folder, '--pid-file', file)
  await run.api()
  await until(
    () => (existsSync(file) ? true : undefined),
    () => 'no PID file',
  )
  assert.equal(readFileSync(file, 'utf8'), `${run.child.pid}\n`)
  run.kill('SIGTERM')
  await run.ended
  assert.ok(!existsSync(file))
})

test('--exit-on-stdin-close without stdin stops at once', async (t) => {
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t), '--exit-on-stdin-close'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  assert.equal((await run.ended).code, 0)
})

test('an unwritable PID file fails the start, if possible before a data folder is created', async (t) => {
  const folder = temporaryFolder(t)
  const early = await node(t, join(folder, 'data'), '--pid-file', join(folder, 'no', 'pid')).ended
  assert.equal(early.code, 1)
  assert.match(early.stderr, /Error: cannot write the PID file .*\nCaused by:\n {4}ENOENT/)
  assert.deepEqual(readdirSync(folder), [])
  const late = await node(t, join(folder, 'data'), '--pid-file', folder).ended
  assert.equal(late.code, 1)
  assert.match(late.stderr, /NODE_STOPPED_BY_NODE[\s\S]*Error: cannot write the PID file/)
})

test('--exit-on-stdin-close stops the node when its supervisor exits', async (t) => {
  const run = node(t, temporaryFolder(t), '--exit-on-stdin-close')
  await run.api()
  run.child.stdin?.end()
  assert.equal((await run.ended).code, 0)
})

test('a second signal during the shutdown ends the process at once with exit code 1', async (t) => {
  const run = node(t, temporaryFolder(t))
  const { hostname, port } = new URL(await run.api())
  const { connect } = await import('node:net')
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  // An unfinished request head keeps its connection open for the whole grace period.
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
  await until(
    async () => ((await fetch(`http://${hostname}:${port}/healthz`)).ok ? true : undefined),
    () => 'not up',
  )
  run.kill('SIGTERM')
  await until(
    () =>
      fetch(`http://${hostname}:${port}/healthz`).then(
        () => undefined,
        () => true,
      ),
    () => 'still listening',
  )
  run.kill('SIGINT')
  const { code, stderr } = await run.ended
  assert.equal(code, 1)
  assert.doesNotMatch(stderr, /NODE_STOPPED/)
})

test('an unfinished request does not delay the shutdown by more than the grace period', (t) =>
  assertBelowASecond(async () => {
    const run = node(t, temporaryFolder(t))
    const { hostname, port } = new URL(await run.api())
    const { connect } = await import('node:net')
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    await new Promise<void>((resolve) => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n', () => resolve()))
    return stopping(run)
  }))

test('a stalled reader of stderr does not block the node', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(folder, { recursive: true })
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder, '--print-addresses'], {
    env: { SHOAL_LOG: 'debug' },
  })
  const api = await run.api()
  run.child.stderr?.pause()
  // Each request is a log line; together they exceed the pipe buffer.
  const path = `/${'x'.repeat(4000)}`
  for (let i = 0; i < 100; i++) assert.equal((await fetch(api + path)).status, 404)
  run.kill('SIGTERM')
  const exited = new Promise((resolve) => run.child.once('exit', resolve))
  assert.equal(await exited, 0)
})

test('the launcher sets heap and allocator limits of a node, unless they are already set', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const started = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
    const run = new ShoalProcess(t, ['run', '--random', '--working-dir', temporaryFolder(t), ...args], { env })
    await run.api()
    const listOf = (file: string): string[] => readFileSync(`/proc/${run.child.pid}/${file}`, 'utf8').split('\0')
    const found = {
      heap: listOf('cmdline').filter((argument) => /^--max-.*-size/.test(argument)),
      threshold: listOf('environ')
        .find((line) => line.startsWith('MALLOC_MMAP_THRESHOLD_='))
        ?.split('=')[1],
    }
    run.kill('SIGTERM')
    assert.equal((await run.ended).code, 0)
    return found
  }
  // Twice the account of client memory.
  const heap = ['--max-old-space-size=1024', '--max-semi-space-size=8']
  assert.deepEqual(await started([], {}), { heap, threshold: String(1024 * 1024) })
  assert.deepEqual(await started([], { MALLOC_MMAP_THRESHOLD_: '4194304' }), { heap, threshold: '4194304' })
  assert.deepEqual((await started(['--memory-limit', '2GiB'], {})).heap, [])
  assert.deepEqual((await started([], { NODE_OPTIONS: '--max-old-space-size=700' })).heap, [])
})
