import { isAbsolute, join } from 'node:path'
import { ShoalError } from '../base/errors.ts'

/** The owner of the data folder may write anywhere: a backup through the control socket has any path. */
export function anyTarget(path: string): string {
  if (isAbsolute(path)) return path
  throw new ShoalError('ERR_INVALID_INPUT', `target: '${path}' is not an absolute path.`)
}

/**
 * Users of the admin port manage the node, not its machine: their backups are below `backups` of the data folder.
 */
export function targetBelow(folder: string): (name: string) => string {
  return (name) => {
    if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) return join(folder, 'backups', name)
    const allowed = 'up to 100 letters, digits, `.`, `_`, `-`: it is a folder below `backups` in the data folder'
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `target: '${name}' is not allowed on the admin port. Allowed: ${allowed}.`,
    )
  }
}
