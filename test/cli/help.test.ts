import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { shoal } from '../support/process.ts'

const groups = [
  [],
  ['settings'],
  ['settings', 'local'],
  ['files'],
  ['store'],
  ['aql'],
  ['events'],
  ['nodes'],
  ['users'],
]
const leaves = [
  ['run'],
  ['doctor'],
  ['top'],
  ['bench'],
  ['complete'],
  ['settings', 'schema'],
  ['settings', 'get'],
  ['settings', 'set'],
  ['settings', 'unset'],
  ['settings', 'rollback'],
  ['settings', 'local', 'get'],
  ['settings', 'local', 'set'],
  ['settings', 'local', 'unset'],
  ['settings', 'local', 'init'],
  ['files', 'add'],
  ['files', 'get'],
  ['files', 'ls'],
  ['files', 'name'],
  ['files', 'unname'],
  ['files', 'rm'],
  ['store', 'verify'],
  ['store', 'stats'],
  ['store', 'backup'],
  ['store', 'accept-restored'],
  ['store', 'forget-stream'],
  ['store', 'new-identity'],
  ['nodes', 'health'],
  ['events', 'redact'],
  ['aql', 'check'],
  ['aql', 'format'],
  ['aql', 'run'],
]

test('every command has a help text', async (t) => {
  for (const command of [...groups, ...leaves]) {
    const { code, stdout, stderr } = await shoal(t, [...command, '--help'])
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`^Usage: ${['shoal', ...command].join(' ')}`))
    assert.equal(stderr, '')
  }
})

test('a command group without a subcommand prints its help to stderr and ends with exit code 2', async (t) => {
  for (const command of groups) {
    const { code, stdout, stderr } = await shoal(t, command)
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
