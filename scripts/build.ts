// Builds dist/ from src/: JavaScript and types for the package, and the build information of the version string.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

rmSync(`${root}/dist`, { recursive: true, force: true })
execFileSync('tsc', ['--project', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
await bundle(`${root}/dist`)
