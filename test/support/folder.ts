import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A folder of its own for a test, removed when the test is over. */
export function temporaryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-test-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
