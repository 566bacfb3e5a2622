import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import draft06 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' }
import { systemClock } from '../../src/runtime/clock.ts'
import {
  type JsonObject,
  type RetentionSettings,
  Settings,
  type SettingsDocument,
  schema,
} from '../../src/settings/index.ts'
import { memoryLog } from '../support/settings-log.ts'

test('the schema is valid JSON schema draft-06', () => {
  const ajv = new Ajv({ strict: false })
  ajv.addMetaSchema(draft06)
  assert.ok(ajv.validateSchema(schema), ajv.errorsText())
})

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

test('the type of a document matches the schema, with all defaults', () => {
  const members: Same<keyof SettingsDocument, 'swarm' | 'admin' | 'licensing' | 'api' | 'eventRouting'> = true
  const numbers: Same<SettingsDocument['swarm']['gossipInterval'], number> = true
  const lists: Same<SettingsDocument['swarm']['initialPeers'], string[]> = true
  const choices: Same<
    RetentionSettings,
    { maxEvents: number | '0' | null; maxSize: string | 0 | null; maxAge: string | 0 | null }
  > = true
  const optional: Same<SettingsDocument['api'], { events: { readOnly: boolean; _internal?: JsonObject } }> = true
  const named: Same<SettingsDocument['eventRouting']['streams'], Record<string, RetentionSettings>> = true
  const required: Same<SettingsDocument['eventRouting']['routes'], { from: string; into: string }[]> = true
  // Checked by the compiler; there is nothing to check at run time.
  assert.ok(members && numbers && lists && choices && optional && named && required)
})

test('every revision is kept with its time and origin, and can be rolled back to', async () => {
  const settings = await Settings.open(memoryLog(), systemClock)
  assert.equal(settings.revision, 0)
  await settings.set(['admin', 'displayName'], 'one', 'alice')
  await settings.merge(['admin'], { displayName: 'two', logLevels: { node: 'WARN' } }, 'bob')
  await settings.rollback(1, 'carol')
  const history = [...settings.history(1000)]
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

test('an error of a listener does not refuse the change', async (t) => {
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
