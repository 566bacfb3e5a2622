import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../base/errors.ts'

/** The name of the control socket, in the data folder or in a private temporary folder. */
export const socketName = 'control.sock'

/**
 * Maximum length of the path of a Unix socket, in bytes: the shortest among the supported systems, without the final
 * zero. Longer ones cannot be bound or connected to.
 */
const maxSocketPath = 103

export function isTooLongForSocket(path: string): boolean {
  return Buffer.byteLength(path) > maxSocketPath
}

/** The file in the data folder that names a control socket outside of it. */
export function pathFileOf(folder: string): string {
  return join(folder, 'control.path')
}

/** The path of the control socket of a data folder. It exists while the node runs, or after it was killed. */
export function controlSocketOf(folder: string): string {
  try {
    const elsewhere = readFileSync(pathFileOf(folder), 'utf8').trim()
    if (elsewhere !== '') return elsewhere
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
  return join(folder, socketName)
}
