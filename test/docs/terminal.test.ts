import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { recordSession, terminalPage } from '../../scripts/terminal/session.ts'
import { temporaryFolder } from '../support/folder.ts'

test('the recorded session is what commands print today', async (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/terminal.md'), 'utf8')
  const session = await recordSession(join(temporaryFolder(t), 'shoal-data'))
  assert.equal(terminalPage(session), page, '`npm run docs:terminal` records it again')
})
