// Builds dist/ from src/: JavaScript and types for the package, and the build information of the version string.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

function gitHash(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'npm'
  }
}

rmSync(`${root}/dist`, { recursive: true, force: true })
execFileSync('tsc', ['--project', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
// Bundles: each thread of a node loads its modules again, and resolving hundreds of files took most of a start.
await build({
  absWorkingDir: root,
  entryPoints: ['src/cli/main.ts', ...globSync('src/**/*-thread.ts', { cwd: root }).sort()],
  outdir: 'dist',
  entryNames: '[name]',
  bundle: true,
  splitting: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node24',
  logLevel: 'warning',
})
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { version: string }
writeFileSync(`${root}/dist/build.json`, `${JSON.stringify({ version, gitHash: gitHash(), profile: 'release' })}\n`)
