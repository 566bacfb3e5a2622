import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'

test('on a TTY the banner shows addresses and next commands, and Ctrl+C stops the node', async (t) => {
  const folder = temporaryFolder(t)
  // script(1) gives the node a pseudo-terminal.
  // exec: a shell in between would handle Ctrl+C itself.
  const line = `exec '${process.execPath}' '${shoalCommand}' run --random --working-dir '${folder}'`
  const terminal = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => terminal.kill('SIGKILL'))
  let screen = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  await until(
    () => (screen.includes('Ctrl+C') ? true : undefined),
    () => screen,
  )
  assert.match(screen, /node ID {6}[./0-9A-Za-z]{43}\r\n/)
  assert.match(screen, new RegExp(`data folder {2}${folder}`))
  assert.match(screen, /swarm key {4}the public default: anyone on this network can join/)
  const [, url = ''] = /try {10}curl (\S+)/.exec(screen) ?? []
  assert.match(await (await fetch(url)).text(), /^[./0-9A-Za-z]{43}$/)
  const ended = new Promise((resolve) => terminal.once('exit', resolve))
  terminal.stdin.write('\x03')
  assert.equal(await ended, 0)
  assert.match(screen, /NODE_STOPPED_BY_HOST/)
})

for (const [env, coloured] of [
  [{ NO_COLOR: '' }, true],
  [{ NO_COLOR: '1' }, false],
  [{ TERM: 'dumb' }, false],
] as const)
  test(`on a TTY with ${JSON.stringify(env)} the log is ${coloured ? 'coloured' : 'plain'}`, async (t) => {
    const line = `exec '${process.execPath}' '${shoalCommand}' run --random --working-dir '${temporaryFolder(t)}'`
    const terminal = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NO_COLOR: '', TERM: 'xterm', ...env },
    })
    t.after(() => terminal.kill('SIGKILL'))
    let screen = ''
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text
    })
    await until(
      () => (screen.includes('Ctrl+C') ? true : undefined),
      () => screen,
    )
    assert.equal(screen.includes('\x1b[32m'), coloured)
    const ended = new Promise((resolve) => terminal.once('exit', resolve))
    terminal.stdin.write('\x03')
    await ended
  })
