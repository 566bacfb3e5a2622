import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import draft06 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' }
import { systemClock } from '../../src/runtime/clock.ts'
import { Settings, type SettingsLog, type StoredVersion, schema } from '../../src/settings/index.ts'

test('the schema is one of draft-06', () => {
  const ajv = new Ajv({ strict: false })
  ajv.addMetaSchema(draft06)
  assert.ok(ajv.validateSchema(schema), ajv.errorsText())
})

/** Versions in memory. */
function memoryLog(): SettingsLog {
  const stored: StoredVersion[] = []
  return {
    version: (revision) => stored.find((version) => version.revision === revision),
    versions: () => stored.toReversed(),
    append: (version) => stored.push({ ...version, revision: stored.length + 1 }),
    reseal: () => assert.fail('nothing to seal again'),
    removeDamaged: () => assert.fail('nothing is damaged'),
  }
}

test('every stored version is kept with its time and origin, and can be brought back', async () => {
  const settings = await Settings.open(memoryLog(), systemClock)
  assert.equal(settings.revision, 0)
  await settings.set(['admin', 'displayName'], 'one', 'alice')
  await settings.merge(['admin'], { displayName: 'two', logLevels: { node: 'WARN' } }, 'bob')
  await settings.rollback(1, 'carol')
  const history = [...settings.history()]
  assert.deepEqual(
    history.map(({ revision, origin, document }) => [revision, origin, document]),
    [
      [3, 'carol, rollback to 1', { admin: { displayName: 'one' } }],
      [2, 'bob', { admin: { displayName: 'two', logLevels: { node: 'WARN' } } }],
      [1, 'alice', { admin: { displayName: 'one' } }],
    ],
  )
  assert.ok(history.every(({ time }) => Math.abs(time - Date.now() * 1000) < 60e6))
  await assert.rejects(settings.rollback(9, 'dave'), { code: 'ERR_SETTINGS_REVISION_UNKNOWN' })
})

test('what a listener does wrong is not taken for a refusal', async (t) => {
  const settings = await Settings.open(memoryLog(), systemClock)
  const seen: number[] = []
  settings.onChange(() => {
    throw new Error('listener')
  })
  settings.onChange(({ revision }) => seen.push(revision))
  const raised = new Promise<Error>((resolve) => {
    const queued = queueMicrotask
    t.mock.method(globalThis, 'queueMicrotask', (callback: () => void) =>
      queued(() => {
        try {
          callback()
        } catch (error) {
          resolve(error as Error)
        }
      }),
    )
  })
  await settings.set(['admin', 'displayName'], 'x', 'test')
  assert.deepEqual(seen, [1])
  assert.equal((await raised).message, 'listener')
})
