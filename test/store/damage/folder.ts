import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A temporary folder, in memory if possible: thousands of stores are written and read, and none has to be durable. */
export function memoryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'shoal-test-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
