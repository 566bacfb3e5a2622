import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A test, or a file of tests: what says when something is not needed any more. */
export interface TestScope {
  after(end: () => unknown): void
}

/** A folder of its own for a test, removed when the test is over. */
export function temporaryFolder(test: TestScope): string {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-test-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
