import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const tests = join(import.meta.dirname, '../test')

/** Test folders that need more than this repository; each has a command of its own. */
export const apart: readonly string[] = ['browser', 'clients', 'disk', 'network', 'package']

/** Glob patterns for all other test files. */
export function patterns(): string[] {
  const folders = readdirSync(tests, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const suites = folders.map(({ name }) => name).filter((name) => !apart.includes(name))
  return [`test/{${suites.join()}}/**/*.test.ts`]
}
