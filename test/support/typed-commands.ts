import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Command } from 'commander'
import { program } from '../../src/cli/program/command-line.ts'
import { temporaryFolder } from './folder.ts'

/** A command of the program, with its words after `shoal`. */
export interface NamedCommand {
  readonly command: Command
  readonly words: readonly string[]
}

/** A command and all below it, hidden ones included. */
export function commandsBelow(command: Command, words: readonly string[] = []): NamedCommand[] {
  return [{ command, words }, ...command.commands.flatMap((one) => commandsBelow(one, [...words, one.name()]))]
}

/** What a shell calls `shoal` with when a person types a command: the words of each, which the program has to know. */
export async function commandsTyped(t: TestContext, typed: string): Promise<string[]> {
  const words: string[] = []
  for (const call of callsOf(t, typed))
    words.push(await parsed(call).catch((error: Error) => assert.fail(`${typed}: ${error.message}`)))
  assert.notEqual(words.length, 0, typed)
  return words
}

/** Asserts that a refusal ends with the command to type next, and that the program has it. */
export async function assertNamesNextCommand(t: TestContext, stderr: string): Promise<void> {
  const named = /\nNext: (.*)\n$/.exec(stderr)?.[1] ?? /`(shoal .*?)`/.exec(stderr)?.[1]
  assert.ok(named !== undefined, `no command to type next:\n${stderr}`)
  await commandsTyped(t, named)
}

function callsOf(t: TestContext, typed: string): string[][] {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'query.aql'), 'FROM allEvents')
  const shoal = 'shoal() { printf "%s\\0" "$@" >> calls; printf "\\n" >> calls; }'
  // Other commands of the examples. `source` of fish reads the standard input.
  const others = 'jq() { cat; }; source() { cat "$@"; }'
  const { status, stderr } = spawnSync('bash', ['-c', `${shoal}; ${others}; eval "$1"`, 'bash', typed], {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''], typed)
  const calls = readFileSync(join(folder, 'calls'), 'utf8').split('\0\n')
  return calls.slice(0, -1).map((call) => call.split('\0'))
}

/** Parses arguments as the program does, and runs nothing. Returns the words of the command. */
async function parsed(args: readonly string[]): Promise<string> {
  const root = program(() => {}, true)
  let found = ''
  for (const { command, words } of commandsBelow(root)) {
    command.configureOutput({ writeOut: () => {} })
    if (command.commands.length === 0)
      command.action(() => {
        found = words.join(' ')
      })
  }
  try {
    await root.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'commander.helpDisplayed')) throw error
  }
  return found
}
