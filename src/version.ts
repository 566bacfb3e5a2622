import { readFileSync } from 'node:fs'

interface Build {
  version: string
  gitHash: string
  profile: 'debug' | 'release'
}

/** The build writes `build.json` beside this file; a checkout has none and runs its source. */
function readBuild(): Build {
  try {
    return JSON.parse(readFileSync(new URL('build.json', import.meta.url), 'utf8')) as Build
  } catch {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Build
    return { version, gitHash: 'source', profile: 'debug' }
  }
}

const architectures: Partial<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64', ia32: 'x86' }
const build = readBuild()
const target = `${process.platform}-${architectures[process.arch] ?? process.arch}`

/** `<x.y.z>-<git hash>-<os>-<arch>-<profile>`: clients read the number at its start. */
export const versionString = `${build.version}-${build.gitHash}-${target}-${build.profile}`
