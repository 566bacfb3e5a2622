import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Writes the JavaScript of the package into a folder, with the build information of the version string. */
export async function bundle(outdir: string): Promise<void> {
  // Bundles: each thread of a node loads its modules again, and resolving hundreds of files took most of a start. Those
  // of libp2p are in them: the swarm thread so starts in a quarter of the time, with 23 MB less memory.
  await build({
    absWorkingDir: root,
    entryPoints: ['src/cli/main.ts', ...globSync('src/**/*-thread.ts', { cwd: root }).sort()],
    outdir,
    entryNames: '[name]',
    bundle: true,
    // Libraries in CommonJS are few files, and lose their named exports in a bundle.
    external: ['@fastify/busboy', 'ajv', 'ajv/*', 'commander', 'ws', 'xsalsa20', 'yaml'],
    splitting: true,
    // Parts of libp2p in CommonJS call it.
    banner: {
      js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);",
    },
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'warning',
  })
  const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { version: string }
  writeFileSync(`${outdir}/build.json`, `${JSON.stringify({ version, gitHash: gitHash(), profile: 'release' })}\n`)
}

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
