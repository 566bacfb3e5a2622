import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../base/errors.ts'

/** The name of the control socket, in the data folder or in a private temporary folder. */
export const socketName = 'control.sock'

/**
 * Maximum length of the path of a Unix socket, in bytes without the terminating NUL: the smallest among the supported
 * systems. Longer paths cannot be bound or connected to.
 */
const maxSocketPath = 103

export function isTooLongForSocket(path: string): boolean {
  return Buffer.byteLength(path) > maxSocketPath
}

/** The file in the data folder that names a control socket outside of it. */
export function pathFileOf(folder: string): string {
  return join(folder, 'control.path')
}

/** Writes to the data folder where its control socket is, when it is outside of it. */
export function writePathFile(folder: string, socket: string): void {
  writeFileSync(pathFileOf(folder), `${socket}\n${identityOf(folder)}\n`, { mode: 0o600 })
}

/** The path of the control socket of a data folder. It exists while the node runs, or after it was killed. */
export function controlSocketOf(folder: string): string {
  try {
    const [elsewhere = '', identity] = readFileSync(pathFileOf(folder), 'utf8').split('\n')
    // In a copy of a data folder the file names the socket of the original's node.
    if (elsewhere !== '' && identity === identityOf(folder)) return elsewhere
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
  return join(folder, socketName)
}

/** Device and inode: a copy has others, a folder that was moved has the same. */
function identityOf(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true })
  return `${dev}:${ino}`
}
