import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { controlSocketOf, writePathFile } from '../../src/admin/control-path.ts'
import { ControlSocket } from '../../src/admin/index.ts'
import { ControlClient } from '../../src/cli/client/control-client.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemTimers } from '../../src/runtime/timers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess } from '../support/process.ts'

const server = (): Server => createServer((_, response) => response.end('here'))

function options(folder: string, log: string[] = []) {
  const output = logOutput(textLine(false), { write: (text) => log.push(text), flush: async () => {} }, systemClock)
  return { folder, server, log: new Logger(output, 'control'), timers: systemTimers }
}

function ask(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: '/', agent: false }, (response) => {
      response.setEncoding('utf8').once('data', resolve)
    })
      .on('error', reject)
      .end()
  })
}

/** A data folder whose path is too long for a socket. */
function longFolder(t: TestContext): string {
  const folder = join(temporaryFolder(t), 'x'.repeat(120))
  mkdirSync(folder)
  return folder
}

test('the socket is only for its owner, also with a permissive umask, and removed by close', async (t) => {
  const folder = temporaryFolder(t)
  const before = process.umask(0)
  t.after(() => process.umask(before))
  const socket = await ControlSocket.open(options(folder))
  assert.ok(socket)
  assert.equal(process.umask(), 0, 'the umask of the process is unchanged')
  assert.equal(socket.path, join(folder, 'control.sock'))
  assert.equal(controlSocketOf(folder), socket.path)
  assert.ok(lstatSync(socket.path).isSocket())
  assert.equal(statSync(socket.path).mode & 0o777, 0o600)
  assert.equal(await ask(socket.path), 'here')
  await socket.close()
  assert.deepEqual(readdirSync(folder), [])
})

test('the socket of a killed process is replaced', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  await run.api()
  run.kill('SIGKILL')
  await run.ended
  assert.ok(existsSync(join(folder, 'control.sock')))
  const socket = await ControlSocket.open(options(folder))
  assert.ok(socket)
  assert.equal(await ask(controlSocketOf(folder)), 'here')
  await socket.close()
})

test('a data folder with a long path has its socket in a private folder, which is removed by close', async (t) => {
  const folder = longFolder(t)
  const temporary = temporaryFolder(t)
  const log: string[] = []
  const socket = await ControlSocket.open({ ...options(folder, log), temporaryFolder: temporary })
  assert.ok(socket)
  assert.equal(readFileSync(join(folder, 'control.path'), 'utf8').split('\n')[0], socket.path)
  assert.equal(controlSocketOf(folder), socket.path)
  assert.ok(socket.path.startsWith(temporary))
  assert.equal(statSync(join(socket.path, '..')).mode & 0o777, 0o700)
  assert.equal(await ask(socket.path), 'here')
  assert.match(log.join(''), /INFO control: The control socket is .* is too long for a socket\./)
  await socket.close()
  assert.deepEqual([readdirSync(folder), readdirSync(temporary)], [[], []])
})

test('the private folder of a killed node is removed when the next one opens its socket', async (t) => {
  const folder = longFolder(t)
  const temporary = temporaryFolder(t)
  const stale = join(temporary, 'shoal-stale')
  mkdirSync(stale)
  writeFileSync(join(stale, 'control.sock'), '')
  writePathFile(folder, join(stale, 'control.sock'))
  const socket = await ControlSocket.open({ ...options(folder), temporaryFolder: temporary })
  assert.ok(socket)
  assert.ok(!existsSync(stale))
  await socket.close()
})

test('commands on a copy of a data folder do not reach the node of the original, and its socket is kept', async (t) => {
  const [folder, copy] = [longFolder(t), longFolder(t)]
  const socket = await ControlSocket.open({ ...options(folder), temporaryFolder: temporaryFolder(t) })
  assert.ok(socket)
  copyFileSync(join(folder, 'control.path'), join(copy, 'control.path'))
  assert.equal(controlSocketOf(copy), join(copy, 'control.sock'))
  await assert.rejects(new ControlClient(copy, systemTimers).request({ method: 'GET', path: '/node' }), {
    name: 'NoNode',
  })
  const other = await ControlSocket.open({ ...options(copy), temporaryFolder: temporaryFolder(t) })
  assert.ok(other)
  assert.equal(await ask(socket.path), 'here')
  await other.close()
  await socket.close()
})

test('without a usable path there is a warning with a way out, and no socket', async (t) => {
  const folder = longFolder(t)
  const log: string[] = []
  const tooLong = longFolder(t)
  assert.equal(await ControlSocket.open({ ...options(folder, log), temporaryFolder: tooLong }), undefined)
  assert.match(log.join(''), /WARN control: Commands such as .* cannot reach this node.* A shorter TMPDIR/)
  assert.deepEqual([readdirSync(folder), readdirSync(tooLong)], [[], []])
  assert.equal(await ControlSocket.open({ ...options(folder), temporaryFolder: join(folder, 'missing') }), undefined)
})
