import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gitCommit } from './git-commit.ts'

interface Build {
  version: string
  gitHash: string
  profile: 'debug' | 'release'
}

/**
 * The build writes `build.json` next to this file. A checkout has none and runs from source: its version has the commit
 * that is checked out, or `source` without git.
 */
function readBuild(): Build {
  try {
    return JSON.parse(readFileSync(new URL('build.json', import.meta.url), 'utf8')) as Build
  } catch {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Build
    const gitHash = gitCommit(fileURLToPath(new URL('../..', import.meta.url))) ?? 'source'
    return { version, gitHash, profile: 'release' }
  }
}

const architectures: Partial<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64', ia32: 'x86' }
const build = readBuild()
const target = `${process.platform}-${architectures[process.arch] ?? process.arch}`

/** `<x.y.z>-<git hash>-<os>-<arch>-<profile>`: clients read the number at its start. */
export const versionString = `${build.version}-${build.gitHash}-${target}-${build.profile}`

/** The version in the form of the admin interface. */
export const versionParts = { profile: build.profile, target, version: build.version, gitHash: build.gitHash } as const
