import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { program } from '../../src/cli/command-line.ts'
import { temporaryFolder } from '../support/folder.ts'
import { shoal } from '../support/process.ts'

/** All commands, hidden ones included, each with its words after `shoal`. */
function commandsBelow(command: Command, words: readonly string[]): { command: Command; words: readonly string[] }[] {
  return [{ command, words }, ...command.commands.flatMap((one) => commandsBelow(one, [...words, one.name()]))]
}

const all = commandsBelow(
  program(() => {}, false),
  [],
)
const groups = all.filter(({ command }) => command.commands.length > 0)
const leaves = all.filter(({ command }) => command.commands.length === 0)

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
  })
  command.outputHelp()
  return text
}

/** The commands in the examples of a help text; after two spaces follows what they do. */
function examplesIn(help: string): string[] {
  const [, text = ''] = help.split('\nExamples:\n')
  return text.split('\n').flatMap((line) => /^ {2}(\S.*?)(?: {2,}\S.*)?$/.exec(line)?.[1] ?? [])
}

/** The arguments with which a shell calls `shoal` for a command that a person types. */
function callsOf(t: TestContext, typed: string): string[][] {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'query.aql'), 'FROM allEvents')
  const shell =
    'shoal() { printf "%s\\0" "$@" >> calls; printf "\\n" >> calls; }; jq() { cat; }; source() { cat "$@"; }; eval "$1"'
  const { status, stderr } = spawnSync('bash', ['-c', shell, 'bash', typed], { cwd: folder, encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''], typed)
  const calls = readFileSync(join(folder, 'calls'), 'utf8').split('\0\n')
  return calls.slice(0, -1).map((call) => call.split('\0'))
}

/** Parses arguments as the program does, and runs nothing. Returns the words of the command. */
async function parsed(args: readonly string[]): Promise<string> {
  const root = program(() => {}, true)
  let ran = ''
  for (const { command, words } of commandsBelow(root, []))
    if (command.commands.length === 0)
      command.action(() => {
        ran = words.join(' ')
      })
  await root.parseAsync([...args], { from: 'user' })
  return ran
}

test('every command has a help text, and every one that does something has examples', () => {
  assert.ok(leaves.length > 40)
  for (const { command, words } of all) {
    const help = helpOf(command)
    assert.ok(help.startsWith(`Usage: ${['shoal', ...words].join(' ')} `), help)
    if (command.commands.length === 0) assert.notEqual(examplesIn(help).length, 0, `no examples: ${words.join(' ')}`)
  }
})

test('every example is accepted by the program, and shows the command that it is for', async (t) => {
  for (const { command, words } of leaves) {
    const shown: string[] = []
    for (const example of examplesIn(helpOf(command)))
      for (const call of callsOf(t, example))
        shown.push(await parsed(call).catch((error: Error) => assert.fail(`${example}: ${error.message}`)))
    // The reference system has these commands under other names.
    const name = words
      .join(' ')
      .replace(/^internal (?=events subscribe$)/, '')
      .replace(/^internal shut/, 'nodes shut')
    assert.ok(shown.includes(name), `no example of ${name}, but of ${shown.join(', ')}`)
  }
})

test('a help text goes to stdout', async (t) => {
  const { code, stdout, stderr } = await shoal(t, ['settings', 'set', '--help'])
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Usage: shoal settings set /)
})

test('every command group has its version', async (t) => {
  for (const { command, words } of groups)
    assert.match(String(command.version()), new RegExp(`^${['shoal', ...words].join('-')} 3\\.`))
  for (const option of ['-V', '--version']) {
    const { code, stdout } = await shoal(t, ['settings', 'local', option])
    assert.equal(code, 0)
    assert.match(stdout, /^shoal-settings-local 3\.\d+\.\d+-\S+\n$/)
  }
})

test('a command group without a subcommand prints its help to stderr and ends with exit code 2', async (t) => {
  for (const { words } of groups) {
    const { code, stdout, stderr } = await shoal(t, words)
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^Usage: shoal/)
  }
})

test('the version string has the format that clients accept', async (t) => {
  const { code, stdout } = await shoal(t, ['--version'])
  assert.equal(code, 0)
  assert.match(stdout, /^shoal 3\.\d+\.\d+-\w+-\w+-\w+-(debug|release)\n$/)
})

test('the version of a checkout names its commit', async (t) => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const commit = spawnSync('git', ['rev-parse', '--short=8', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout?.trim()
  if (!commit) return t.skip('not a git checkout')
  const { stdout } = await shoal(t, ['--version'])
  assert.match(stdout, new RegExp(`^shoal 3\\.\\d+\\.\\d+-${commit}-\\w+-\\w+-release\\n$`))
})

test('an unknown command is rejected with a suggestion', async (t) => {
  const { code, stderr } = await shoal(t, ['setings'])
  assert.equal(code, 2)
  assert.match(stderr, /unknown command 'setings'\n\(Did you mean settings\?\)/)
})

test('options that all commands have are accepted before and after the words of a command', async (t) => {
  for (const args of [
    ['--json', 'settings', 'local', 'get', '/', '--working-dir', '/missing'],
    ['settings', '--json', 'local', 'get', '/', '--working-dir', '/missing'],
    ['settings', 'local', 'get', '/', '--working-dir', '/missing', '--json'],
  ]) {
    const { code, stdout } = await shoal(t, args)
    assert.deepEqual([code, JSON.parse(stdout).code], [1, 'ERR_INVALID_INPUT'])
  }
})
