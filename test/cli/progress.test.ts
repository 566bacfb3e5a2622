import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { addFiles } from '../../src/cli/commands/files.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'
import { shoal } from '../support/process.ts'

/** Runs a command on a terminal, and returns all that it has written there. */
async function onTerminal(t: TestContext, ...args: readonly string[]): Promise<string> {
  const line = [process.execPath, shoalCommand, ...args].map((word) => `'${word}'`).join(' ')
  // script(1) makes the pseudo-terminal.
  const terminal = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => terminal.kill('SIGKILL'))
  let screen = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  assert.deepEqual(await once(terminal, 'close'), [0, null], screen)
  return screen
}

test('bench shows the share of published events on a terminal, and nothing in a pipe', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await startBareNode(t, { folder })
  const args = ['bench', folder, '--yes', '--events', '800']
  const screen = await onTerminal(t, ...args)
  assert.match(screen, /\[#*-*\] \d+ % of 800 events/)
  assert.ok(screen.includes('\r\x1b[Kpublish one event '), 'the bar is removed before the result')
  const piped = await shoal(t, [...args, '--json'])
  assert.deepEqual([piped.code, piped.stderr], [0, ''])
})

test('a download shows its share of the bytes on a terminal, and nothing in a pipe', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await startBareNode(t, { folder })
  const file = join(temporaryFolder(t), 'large')
  writeFileSync(file, Buffer.alloc(3_000_000, 'large'))
  const cid = String(await (await addFiles({ folder }, file)).text())
  const screen = await onTerminal(t, 'files', 'get', cid, join(temporaryFolder(t), 'copy'), folder)
  assert.match(screen, /\[#*-*\] \d+ % of 3000000 bytes/)
  const content = await onTerminal(t, 'files', 'get', cid, '-', folder)
  assert.ok(!content.includes('%'), 'no bar between the bytes of the content')
  const piped = await shoal(t, ['files', 'get', cid, join(temporaryFolder(t), 'copy'), folder])
  assert.deepEqual([piped.code, piped.stderr], [0, ''])
})
