// `npm run docs:terminal`: records a session with a node, and writes docs/terminal.md.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordSession, terminalPage } from './terminal/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'shoal-terminal-'))
try {
  const session = await recordSession(join(folder, 'shoal-data'))
  writeFileSync(join(import.meta.dirname, '../docs/terminal.md'), terminalPage(session))
} finally {
  rmSync(folder, { recursive: true })
}
