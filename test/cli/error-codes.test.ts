import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ErrorCode, errorTable, ShoalError } from '../../src/base/errors.ts'
import { initLocal } from '../../src/cli/commands/local-settings.ts'
import { errorJson, exitCodes, report } from '../../src/cli/output/output.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { Journey } from '../support/journey.ts'
import { shoal } from '../support/process.ts'
import { RunningNode } from '../support/running-node.ts'
import { assertNamesNextCommand } from '../support/typed-commands.ts'

/** A private key of another user, which the node does not know. */
const stranger = new KeyPair(Buffer.alloc(32, 7)).toPrivateText()

/** Codes of the reference system that no command of shoal ends with, and why. */
const unused: Readonly<Record<string, string>> = {
  ERR_NODE_AUTH: 'the reference system does not use it either',
  ERR_SETTINGS_INVALID_SCHEMA: 'the schema is part of the program',
  ERR_SETTINGS_UNKNOWN_SCOPE: 'the schema covers all scopes: others are not found, or fail validation',
  ERR_SETTINGS_INVALID_AT_SCOPE: 'stored settings that are not valid any more are replaced by the revision before them',
}

/** The text before the message of an error, for people. */
function startOf(code: ErrorCode): string {
  if (code === 'ERR_AQL_ERROR') return '[AQL_ERROR]: '
  return `[${code}]${code === 'ERR_IO' || code === 'ERR_UNSUPPORTED' ? ':' : ''} Error: `
}

test('each error of the specification has its code, its text and the exit code 1', async (t) => {
  const journey = new Journey(t)
  const { admin, folder } = await RunningNode.start(t, join(journey.folder, 'data'))
  const made = await journey.run(['users', 'keygen'], '\n')
  assert.equal(made.code, 0)
  await journey.text('users', 'claim', admin)
  const stopped = join(journey.folder, 'stopped')
  await initLocal(stopped, false)
  const foreign = join(journey.folder, 'foreign')
  mkdirSync(foreign)
  writeFileSync(join(foreign, 'shoal.json'), '{"format":999}')
  const key = join(journey.folder, 'config/shoal/keys/users/id')
  const nobody = { XDG_CONFIG_HOME: join(journey.folder, 'empty') }

  const rows: readonly (readonly [
    code: ErrorCode,
    message: RegExp,
    args: readonly string[],
    env?: NodeJS.ProcessEnv,
  ])[] = [
    ['ERR_FILE_EXISTS', /exists/, ['users', 'keygen', '-o', key]],
    ['ERR_IO', /is locked by another shoal process/, ['settings', 'local', 'get', '/', '--working-dir', folder]],
    ...[
      ['query', admin, 'FROM allEvents'],
      ['publish', admin, '1'],
      ['offsets', admin],
    ].map(
      (words) =>
        [
          'ERR_UNAUTHORIZED',
          /^Provided key is not authorized to access the API\.$/,
          ['events', ...words, '-i', stranger],
        ] as const,
    ),
    ['ERR_USER_UNAUTHENTICATED', /shoal users keygen/, ['settings', 'get', '/', admin], nobody],
    ['ERR_NODE_UNREACHABLE', /^unable to reach node, additional message: /, ['nodes', 'inspect', '127.0.0.1:1']],
    ['ERR_NODE_UNREACHABLE', /no node runs\. Start it with `shoal run/, ['nodes', 'inspect', stopped]],
    ['ERR_PATH_INVALID', /./, ['nodes', 'inspect', admin, '-i', join(journey.folder, 'missing')]],
    ['ERR_PATH_INVALID', /is no data directory of shoal/, ['users', 'add-key', journey.folder]],
    [
      'ERR_SETTINGS_INVALID',
      /^Validation failed\.\n\tErrors:\n\t\t\/admin\/displayName: /,
      ['settings', 'set', '/admin/displayName', '7', admin],
    ],
    [
      'ERR_SETTINGS_NOT_FOUND_AT_SCOPE',
      /^No settings found at scope '\/admin\/x'\.$/,
      ['settings', 'get', '/admin/x', admin],
    ],
    ['ERR_SETTINGS_CONFLICT', /for revision 7/, ['settings', 'unset', '/swarm', admin, '--if-revision', '7']],
    ['ERR_SETTINGS_REVISION_UNKNOWN', /^There is no revision 7 /, ['settings', 'rollback', '7', admin]],
    ['ERR_INVALID_INPUT', /^The payload is not JSON: /, ['events', 'publish', admin, '{']],
    ['ERR_INVALID_NODE_STATE', /./, ['settings', 'local', 'get', '/', '--working-dir', foreign]],
    ['ERR_UNSUPPORTED', /exclude each other/, ['events', 'offsets', admin, '--working-dir', folder]],
  ]
  for (const [code, message, args, env] of rows) {
    const ended = await journey.run(args, '', env)
    const start = startOf(code)
    assert.deepEqual([ended.code, ended.stdout, ended.stderr.slice(0, start.length)], [1, '', start], ended.stderr)
    const [text = ''] = ended.stderr.slice(start.length).trimEnd().split('\nNext: ')
    assert.match(text, message)
    await assertNamesNextCommand(t, ended.stderr)
  }
  const usage = ['settings', 'get', 'admin', admin]
  const [human, machine] = await Promise.all([journey.run(usage), journey.run([...usage, '--json'])])
  assert.deepEqual([human.code, human.stdout, machine.code, machine.stderr], [2, '', 2, ''])
  assert.equal(JSON.parse(machine.stdout).code, 'ERR_INVALID_INPUT')
  for (const code of Object.keys(unused)) assert.ok(!Object.hasOwn(errorTable, code), code)
})

test('a query that fails while it runs ends with ERR_AQL_ERROR, after its results', async (t) => {
  const { folder } = await RunningNode.start(t, join(new Journey(t).folder, 'data'))
  const failing = 'FEATURES(interpolation) FROM `{1/0}`'
  const diagnostic = '{"type":"diagnostic","severity":"error","message":"division by zero"}\n'
  const last = '{"code":"ERR_AQL_ERROR","message":"division by zero"}\n'
  const refused = (command: string): string => `[AQL_ERROR]: division by zero\nNext: shoal ${command} --help\n`
  const cases: readonly (readonly [command: string, args: readonly string[], shown: string])[] = [
    ['events query', [folder, failing], 'Error: division by zero\n'],
    ['aql run', [failing, '--events', '/dev/null'], diagnostic],
  ]
  for (const [command, args, shown] of cases) {
    const words = [...command.split(' '), ...args]
    const [human, machine] = [await shoal(t, words), await shoal(t, [...words, '--json'])]
    assert.deepEqual([human.code, human.stdout, human.stderr], [1, shown, refused(command)])
    assert.deepEqual([machine.code, machine.stdout, machine.stderr], [1, diagnostic + last, ''])
  }
  const redact = ['events', 'redact', folder, '--query', failing]
  const { code, stderr } = await shoal(t, redact)
  assert.deepEqual([code, stderr], [1, `Error: division by zero\n${refused('events redact')}`])
})

test('every error ends a command with exit code 1, with its code in both modes of output', async (t) => {
  const write = t.mock.method(process.stderr, 'write', (_text: string, done: () => void) => {
    done()
    return true
  })
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const thrown = new ShoalError(code, 'why')
    assert.equal(await report(false, () => Promise.reject(thrown)), exitCodes.failed)
    assert.equal(String(write.mock.calls.at(-1)?.arguments[0]), `${startOf(code)}why\n`)
    assert.deepEqual(JSON.parse(errorJson(thrown)), { code, message: 'why' })
  }
  assert.equal(await report(false, () => Promise.reject(new TypeError('defect'))), exitCodes.failed)
  const shown = String(write.mock.calls.at(-1)?.arguments[0])
  assert.match(
    shown,
    /^\[ERR_INTERNAL_ERROR\] Error: TypeError: defect\n[\s\S]*This is a defect of shoal, please report it\.\n$/,
  )
})
