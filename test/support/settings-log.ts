import assert from 'node:assert/strict'
import type { SettingsLog, StoredRevision } from '../../src/settings/index.ts'

/** An in-memory log of revisions, none of which is damaged. */
export function memoryLog(): SettingsLog {
  const stored: StoredRevision[] = []
  return {
    revision: (number) => stored.find(({ revision }) => revision === number),
    revisions: () => stored.toReversed(),
    append: (entry) => stored.push({ ...entry, revision: stored.length + 1 }),
    reseal: () => assert.fail('nothing to seal again'),
    removeDamaged: () => assert.fail('nothing is damaged'),
  }
}
