import { readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

/** Length of the abbreviated commit hash in a version. */
const shownLength = 8

/**
 * The abbreviated hash of the commit that is checked out in a folder; undefined outside a git checkout. Reads the files
 * of git directly: git may be missing, and spawning it would dominate the run time of `shoal --version`.
 */
export function gitCommit(folder: string): string | undefined {
  try {
    const git = gitFolder(folder)
    const head = textOf(join(git, 'HEAD'))
    const [, ref] = /^ref: (\S+)$/.exec(head) ?? []
    const hash = ref === undefined ? head : refIn([git, commonFolder(git)], ref)
    return hash !== undefined && /^[0-9a-f]{40,64}$/.test(hash) ? hash.slice(0, shownLength) : undefined
  } catch {
    return undefined
  }
}

/** In a worktree or submodule `.git` is a file with the path of the git folder. */
function gitFolder(folder: string): string {
  const entry = join(folder, '.git')
  try {
    const [, target = ''] = /^gitdir: (.+)$/.exec(textOf(entry)) ?? []
    return isAbsolute(target) ? target : join(folder, target)
  } catch {
    return entry
  }
}

/** The folder with the branches: a worktree only has its own HEAD. */
function commonFolder(git: string): string {
  try {
    const target = textOf(join(git, 'commondir'))
    return isAbsolute(target) ? target : join(git, target)
  } catch {
    return git
  }
}

function refIn(folders: readonly string[], ref: string): string | undefined {
  for (const folder of folders) {
    try {
      return textOf(join(folder, ref))
    } catch {
      // The ref may be in the other folder, or packed.
    }
  }
  const packed = textOf(join(folders.at(-1) ?? '', 'packed-refs'))
  return packed
    .split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ')[0]
}

function textOf(file: string): string {
  return readFileSync(file, 'utf8').trim()
}
