import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { printCompletion, type Shell } from '../../../src/cli/commands/complete.ts'
import { completedCommands } from '../../../src/cli/completion/tree.ts'
import { program } from '../../../src/cli/program/command-line.ts'
import { shoal } from '../../support/process.ts'

const root = program(() => {}, false)

async function scriptOf(shell: Shell): Promise<string> {
  return await (await printCompletion(shell, root)).text()
}

/** What bash offers for the last of these words. */
async function completed(...words: readonly string[]): Promise<string[]> {
  const typed = ['shoal', ...words]
  const ask = `${await scriptOf('bash')}
COMP_WORDS=(${typed.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${typed.length - 1}
_shoal
printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-u', '-c', ask], { encoding: 'utf8' }).trim().split('\n')
}

test('bash completes commands, options and their values', async () => {
  assert.ok((await completed('')).includes('doctor'))
  assert.deepEqual(await completed('ev'), ['events'])
  assert.deepEqual(await completed('complete', 'f'), ['fish'])
  assert.deepEqual(await completed('nodes', 'h'), ['health'])
  assert.deepEqual(await completed('settings', 'local', 'i'), ['init'])
  assert.deepEqual(await completed('settings', 'get', '--no'), ['--no-defaults'])
  assert.deepEqual(await completed('--json', 'events', 'q'), ['query'])
  assert.deepEqual(await completed('aql', 'run', '--order', ''), ['asc', 'desc', 'stream-asc'])
  assert.deepEqual(await completed('aql', 'run', '--order', 'd'), ['desc'])
  assert.deepEqual(await completed('store', 'stats', '--working-dir', ''), [''], 'bash completes files then')
  assert.deepEqual(await completed('events', 'publish', 'events', '--t'), ['--tag'])
  assert.ok(!(await completed('')).includes('internal'), 'hidden commands are not offered')
})

test('the completion of bash is registered for the command', async () => {
  const ask = `${await scriptOf('bash')}\ncomplete -p shoal`
  assert.equal(execFileSync('bash', ['-eu', '-c', ask], { encoding: 'utf8' }), 'complete -o default -F _shoal shoal\n')
})

test('the scripts of all shells have all commands and options, and balanced quotes', async () => {
  const commands = completedCommands(root)
  assert.ok(commands.length > 40)
  for (const shell of ['bash', 'zsh', 'fish', 'elvish', 'powershell'] as const) {
    const script = await scriptOf(shell)
    for (const { path, options } of commands) {
      assert.ok(script.includes(path), `${path} for ${shell}`)
      for (const { flags } of options)
        for (const flag of flags) assert.ok(script.includes(flag.replace(/^-+/, '')), `${flag} for ${shell}`)
    }
    const quotes = script.replaceAll("\\'", '').match(/'/g) ?? []
    assert.equal(quotes.length % 2, 0, shell)
  }
})

test('another shell is refused with the names of those that are known', async (t) => {
  const { code, stderr } = await shoal(t, ['complete', 'tcsh'])
  assert.equal(code, 2)
  assert.match(stderr, /Allowed choices are bash, zsh, fish, elvish, powershell/)
  const made = await shoal(t, ['complete', 'bash'])
  assert.equal(made.stdout, `${await scriptOf('bash')}\n`)
})
