import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Json, newestRevisions, Settings } from '../../src/settings/index.ts'
import { memoryLog } from '../support/settings-log.ts'

test('a history has no swarm keys and licences, but what everybody knows', async () => {
  const settings = await Settings.open(memoryLog(), systemClock)
  const keys = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const licences = ['n', 'a', 'b'].map((letter) => letter.repeat(100))
  const documents: Json[] = [
    { swarm: { swarmKey: keys[0] ?? '' }, licensing: { node: licences[0] ?? '', apps: { 'com.a': 'testing' } } },
    {
      swarm: { swarmKey: keys[1] ?? '' },
      licensing: { apps: { 'com.a': licences[1] ?? '', 'com.b': licences[2] ?? '' } },
    },
  ]
  for (const document of documents) await settings.set([], document, 'test')
  const [second, first] = newestRevisions(settings, 2)
  assert.deepEqual(first?.changes?.slice(1), [
    { path: '/licensing/node', before: 'development', after: '(hidden)' },
    { path: '/licensing/apps/com.a', before: undefined, after: 'testing' },
  ])
  assert.deepEqual(second?.changes, [
    { path: '/swarm/swarmKey', before: '(hidden)', after: '(hidden)' },
    { path: '/licensing/node', before: '(hidden)', after: 'development' },
    { path: '/licensing/apps/com.a', before: 'testing', after: '(hidden)' },
    { path: '/licensing/apps/com.b', before: undefined, after: '(hidden)' },
  ])
  const { changes } = await settings.change({ do: 'rollback', revision: 1 }, { origin: 'test', dryRun: true })
  const text = JSON.stringify([newestRevisions(settings, 9), changes])
  for (const secret of [...keys, ...licences]) assert.ok(!text.includes(secret))
})

test('a change of a member with an unusual name is shown', async () => {
  const settings = await Settings.open(memoryLog(), systemClock)
  await settings.set(['api', 'events', '_internal'], { '': 1, 'a/b': 2 }, 'test')
  await settings.set(['api', 'events', '_internal'], { '': 3, 'a/b': 4 }, 'test')
  assert.deepEqual(newestRevisions(settings, 1)[0]?.changes, [
    { path: '/api/events/_internal/', before: 1, after: 3 },
    { path: '/api/events/_internal/a/b', before: 2, after: 4 },
  ])
})
