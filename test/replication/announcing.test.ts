import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAnnounced, isReplicated } from '../../src/replication/index.ts'

test('an imported topic is not replicated, and a read-only node receives without announcing', () => {
  const rows = (['live', 'imported'] as const).flatMap((kind) =>
    [false, true].map((readOnly) => [kind, readOnly, isReplicated({ kind }), isAnnounced({ kind }, { readOnly })]),
  )
  assert.deepEqual(rows, [
    ['live', false, true, true],
    ['live', true, true, false],
    ['imported', false, false, false],
    ['imported', true, false, false],
  ])
})
