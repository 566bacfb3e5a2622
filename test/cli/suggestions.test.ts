import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorTable } from '../../src/base/errors.ts'
import { completedCommands } from '../../src/cli/completion/tree.ts'
import { nextCommand } from '../../src/cli/output/next-command.ts'
import { program } from '../../src/cli/program/command-line.ts'
import { editDistance, namesakes, similarCommands } from '../../src/cli/program/suggestions.ts'
import { shoal } from '../support/process.ts'
import * as fc from '../support/property.ts'

const paths = completedCommands(program(() => {}, false)).map(({ path }) => path)

test('a word is found in other groups, also with a typing error', () => {
  assert.deepEqual(similarCommands('tail', paths), ['shoal events tail'])
  assert.deepEqual(similarCommands('init', paths), ['shoal settings local init'])
  assert.deepEqual(similarCommands('inspetc', paths), ['shoal nodes inspect'])
  assert.deepEqual(similarCommands('', paths), [])
  assert.deepEqual(similarCommands('qx', paths), [])
  assert.deepEqual(similarCommands('x'.repeat(100_000), paths), [])
})

test('commands of the same name in a group are found', () => {
  assert.deepEqual(namesakes('shoal settings get', paths), ['shoal settings local get'])
  assert.deepEqual(namesakes('shoal settings local set', paths), ['shoal settings set'])
  assert.deepEqual(namesakes('shoal files get', paths), [])
})

test('a word with one typing error has a distance of one', () => {
  const word = fc.stringMatching(/^[a-z]{1,9}$/)
  fc.assert(
    fc.property(word, word, fc.nat(8), (a, b, position) => {
      const at = Math.min(position, a.length)
      assert.equal(editDistance(a, a), 0)
      assert.equal(editDistance(a, b), editDistance(b, a))
      assert.equal(editDistance(a, `${a.slice(0, at)}-${a.slice(at)}`), 1)
      assert.equal(editDistance(`${a}-+`, `${a}+-`), 1)
    }),
    { numRuns: 50 },
  )
})

test('every error code has a command to type next, unless the message has one', () => {
  const failed = { command: 'shoal events query', target: 'press7.local' }
  for (const code of Object.keys(errorTable)) assert.match(nextCommand(code, 'failed', failed) ?? '', /^shoal \w/)
  assert.equal(nextCommand('ERR_IO', 'Type `shoal run`.', failed), undefined)
  assert.equal(nextCommand('ERR_NODE_UNREACHABLE', 'timeout', failed), 'shoal doctor press7.local')
  assert.equal(nextCommand('ERR_IO', 'full', { ...failed, target: '' }), 'shoal doctor')
  assert.equal(nextCommand('ERR_INVALID_INPUT', '/a b does not exist', failed), "shoal run --working-dir '/a b'")
  assert.equal(nextCommand('ERR_INVALID_INPUT', 'Confirm it with --yes.', failed), undefined)
  assert.equal(nextCommand('ERR_SOMETHING_NEW', '', failed), 'shoal events query --help')
})

test('a wrong word, argument or option gets a suggestion and the command to type', async (t) => {
  const cases: [args: string[], message: RegExp][] = [
    [['tail'], /^error: unknown command 'tail'\n\(Did you mean `shoal events tail`\?\)\nType `shoal --help` for/],
    [['settings', 'init'], /\(Did you mean `shoal settings local init`\?\)\nType `shoal settings --help`/],
    [['settings', 'local', 'get', '/', 'press7'], /\(Did you mean `shoal settings get`\?\)/],
    [['help', 'events', 'tial'], /unknown command 'tial'\n\(Did you mean `shoal events tail`\?\)/],
    [['settings', 'get', 'x'], /^error: Scope .*\nType `shoal settings get --help` for options and examples\.\n$/],
  ]
  for (const [args, message] of cases) {
    const { code, stderr } = await shoal(t, args)
    assert.equal(code, 2)
    assert.match(stderr, message)
  }
  const json = JSON.parse((await shoal(t, ['tail', '--json'])).stdout)
  assert.match(json.message, /Did you mean `shoal events tail`/)
})

test('help of a command, by the command of this name', async (t) => {
  const [named, option] = [await shoal(t, ['help', 'events', 'query']), await shoal(t, ['events', 'query', '--help'])]
  assert.deepEqual([named.code, named.stdout], [0, option.stdout])
  assert.match(named.stdout, /Examples:/)
})

test('internal commands are listed if the environment asks for them', async (t) => {
  assert.doesNotMatch((await shoal(t, ['--help'])).stdout, /^ {2}internal/m)
  assert.match((await shoal(t, ['--help'], { env: { HERE_BE_DRAGONS: 'zøg' } })).stdout, /^ {2}internal/m)
})
