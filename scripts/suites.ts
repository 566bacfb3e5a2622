import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const tests = join(import.meta.dirname, '../test')

/** Test folders that need more than this repository, and their commands. */
export const apart: Readonly<Record<string, string>> = {
  browser: 'test:browser',
  clients: 'test:clients',
  disk: 'test:disk',
  network: 'test:network',
  package: 'test:package',
  site: 'test:swarm',
}

/** Glob patterns for all other test files. */
export function patterns(): string[] {
  const folders = readdirSync(tests, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const suites = folders.map(({ name }) => name).filter((name) => !(name in apart))
  return [`test/{${suites.join()}}/**/*.test.ts`]
}
