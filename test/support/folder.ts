import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The scope of a resource: a test or a test file, with a hook for cleanup. */
export interface TestScope {
  after(end: () => unknown): void
}

/** A temporary folder for a test, removed after it. */
export function temporaryFolder(test: TestScope): string {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-test-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
