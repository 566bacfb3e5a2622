import { isAbsolute, join } from 'node:path'
import { ShoalError } from '../base/errors.ts'

/** The target of a backup through the control socket: any path, since its clients own the data folder. */
export function anyTarget(path: string): string {
  if (isAbsolute(path)) return path
  throw new ShoalError('ERR_INVALID_INPUT', `target: '${path}' is not an absolute path.`)
}

/** The target of a backup through the admin port: a name below `backups`, since its users do not own the machine. */
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
