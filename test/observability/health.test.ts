import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Health } from '../../src/observability/health.ts'

test('a reported problem is a reason with its latest detail until it is resolved', () => {
  const health = new Health(['API'])
  health.set('API', 'started')
  assert.deepEqual(health.reasons(), [])
  health.report('Disk', 'it is full')
  health.report('Memory', 'it is used up')
  health.report('Disk', 'it is broken')
  assert.deepEqual(health.reasons(), [
    { component: 'Disk', state: 'failed', detail: 'it is broken' },
    { component: 'Memory', state: 'failed', detail: 'it is used up' },
  ])
  health.resolve('Disk')
  health.resolve('Nothing')
  assert.deepEqual(health.reasons(), [{ component: 'Memory', state: 'failed', detail: 'it is used up' }])
})

test('a failing health check is a reason', () => {
  const health = new Health(['API'])
  let found: string | undefined
  health.check('Clock', () => found)
  assert.deepEqual(health.reasons(), [{ component: 'API', state: 'starting' }])
  health.set('API', 'started')
  found = 'it says 1969'
  assert.deepEqual(health.reasons(), [{ component: 'Clock', state: 'failed', detail: 'it says 1969' }])
  found = undefined
  assert.deepEqual(health.reasons(), [])
})
