import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { program } from '../../src/cli/program/command-line.ts'
import { shoal } from '../support/process.ts'
import { commandsBelow, commandsTyped } from '../support/typed-commands.ts'

const all = commandsBelow(program(() => {}, false))
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
    for (const example of examplesIn(helpOf(command))) shown.push(...(await commandsTyped(t, example)))
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
