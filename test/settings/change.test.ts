import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  type Change,
  type Changed,
  complete,
  type JsonObject,
  parseScope,
  Settings,
  type StoredRevision,
  whenApplied,
} from '../../src/settings/index.ts'
import * as fc from '../support/property.ts'
import { memoryLog } from '../support/settings-log.ts'

const scopes = ['/admin/displayName', '/swarm/topic', '/swarm/gossipInterval', '/admin', '/'].map(parseScope)
const values = ['x', 'DEBUG', 7, -1, null, { displayName: 'n' }, { swarm: { topic: 't' } }]
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    do: fc.constantFrom('set' as const, 'merge' as const),
    scope: fc.constantFrom(...scopes),
    value: fc.constantFrom(...values),
  }),
  fc.record({ do: fc.constant('unset' as const), scope: fc.constantFrom(...scopes) }),
  fc.record({ do: fc.constant('rollback' as const), revision: fc.nat(4) }),
)

test('a dry run stores nothing, and has the result of the change', async () => {
  const attempt = async (work: Promise<Changed>): Promise<unknown> =>
    await work.then(
      ({ value, paths }) => ({ value, paths }),
      ({ code, message }: { code: string; message: string }) => ({ code, message }),
    )
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { maxLength: 8 }), async (list) => {
      const settings = await Settings.open(memoryLog(), systemClock)
      settings.onChange(() => assert.ok(isStoring, 'a dry run notifies no listener'))
      let isStoring = false
      for (const change of list) {
        const before = [settings.revision, settings.document]
        const predicted = await attempt(settings.change(change, { origin: 'test', dryRun: true }))
        assert.deepEqual([settings.revision, settings.document], before)
        isStoring = true
        assert.deepEqual(await attempt(settings.change(change, { origin: 'test' })), predicted)
        isStoring = false
      }
    }),
    { numRuns: 50 },
  )
})

test('a change for another revision than the one in force is refused, and one for it is stored', async () => {
  const settings = await Settings.open(memoryLog(), systemClock)
  const set = (value: string, ifRevision: number) =>
    settings.change({ do: 'set', scope: ['admin', 'displayName'], value }, { origin: 'test', ifRevision })
  assert.equal((await set('one', 0)).revision, 1)
  await assert.rejects(set('two', 0), { code: 'ERR_SETTINGS_CONFLICT', message: /revision 0, and revision 1 is/ })
  await assert.rejects(settings.change({ do: 'rollback', revision: 0 }, { origin: 'test', ifRevision: 7 }), {
    code: 'ERR_SETTINGS_CONFLICT',
  })
  const both = await Promise.allSettled([set('three', 1), set('four', 1)])
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert.equal(settings.revision, 2)
})

test('the history leaves out the document of a damaged revision', async () => {
  const entry = { time: 1, origin: 'test', document: '{}', seal: '' }
  let stored: StoredRevision[] = []
  const settings = await Settings.open({ ...memoryLog(), revisions: () => stored }, systemClock)
  stored = [
    { ...entry, revision: 2 },
    { ...entry, revision: 1, document: 'x', isDamaged: true },
  ]
  assert.deepEqual(
    [...settings.history(1000)].map(({ revision, document }) => [revision, document]),
    [
      [2, {}],
      [1, undefined],
    ],
  )
})

/** The paths of all values of a document. */
function pathsOf(value: unknown, path = ''): string[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || Object.keys(value).length === 0)
    return [path]
  return Object.entries(value).flatMap(([name, member]) => pathsOf(member, `${path}/${name}`))
}

test('a running node applies the topic and the swarm key by a restart of parts, all others at once', () => {
  const paths = pathsOf(complete({} as JsonObject))
  assert.ok(paths.length > 20)
  const { live, restart } = whenApplied(paths)
  assert.deepEqual([...live, ...restart].sort(), paths.toSorted())
  assert.deepEqual(restart.toSorted(), ['/swarm/swarmKey', '/swarm/topic'])
})
