import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { shoalCommand } from '../../../scripts/shoal-command.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { ShoalProcess, shoal, until } from '../../support/process.ts'

test('top refreshes on a terminal until q, and prints once in a pipe', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await new ShoalProcess(t, ['run', '--random', '--working-dir', folder]).api()
  const line = `exec '${process.execPath}' '${shoalCommand}' top --working-dir '${folder}'`
  const terminal = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => terminal.kill('SIGKILL'))
  let screen = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  const piped = shoal(t, ['top', folder])
  const json = shoal(t, ['top', '--working-dir', folder, '--json'])
  await until(
    () => (screen.split('\x1b[HDefault Node').length > 2 ? true : undefined),
    () => screen,
  )
  const ended = new Promise((resolve) => terminal.once('exit', resolve))
  terminal.stdin.write('q')
  assert.equal(await ended, 0)
  assert.ok(screen.startsWith('\x1b[?1049h\x1b[?25l'), 'a screen of its own')
  assert.ok(screen.endsWith('\x1b[?25h\x1b[?1049l'), 'which is gone in the end')
  const { code, stdout, stderr } = await piped
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Default Node {2}\S{43} {2}running, up \d+ s\n\nevents {4}0\.0\/s published/)
  assert.match(stdout, /\nNo other node is connected\.\n$/)
  const { result } = JSON.parse((await json).stdout)
  assert.deepEqual([result.phase, result.peers, result.perSecond.published], ['running', [], 0])
})

test('top without a running node names the command that starts it', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await shoal(t, ['settings', 'local', 'init', '--working-dir', folder])
  const { code, stderr } = await shoal(t, ['top', folder])
  assert.equal(code, 1)
  assert.match(stderr, /^\[ERR_NODE_UNREACHABLE\] Error: .*Start it with `shoal run --working-dir /)
})
