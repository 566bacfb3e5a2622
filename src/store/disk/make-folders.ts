import { existsSync, mkdirSync, rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemCode } from '../../base/errors.ts'
import { type DiskSync, diskSync } from './sync.ts'

/**
 * Creates a directory with its missing parents, readable by its owner only, and syncs the directory above each. Returns
 * the ones that this call created, the outermost first; on failure it removes them again. `mkdirSync` with `recursive`
 * is not used: it loops forever where the parent exists and the kernel still returns ENOENT, as in /proc.
 */
export function makeFolders(path: string, sync: DiskSync = diskSync): string[] {
  const missing: string[] = []
  for (let at = path; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  const made: string[] = []
  try {
    for (const folder of missing) {
      if (makeFolder(folder)) made.push(folder)
      sync.folder(dirname(folder))
    }
  } catch (error) {
    removeEmptyFolders(made)
    throw error
  }
  return made
}

/** Removes directories that `makeFolders` created, the innermost first, as long as they are empty. */
export function removeEmptyFolders(made: readonly string[]): void {
  for (const folder of made.toReversed())
    try {
      rmdirSync(folder)
    } catch {
      // Not empty: it must stay. The caller throws the original error.
      return
    }
}

/** Returns false when the directory was created by another process in the meantime. */
function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}
