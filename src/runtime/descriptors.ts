import { closeSync, openSync, readFileSync } from 'node:fs'
import { ShoalError, systemCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'

/** Connections that each port may have open at the same time. */
export interface ConnectionShares {
  readonly api: number
  readonly admin: number
  readonly swarm: number
}

/** How to raise the limit of open files, for messages. */
export const raiseOpenFiles =
  'Raise it with `ulimit -n 65536` in the shell that starts the node, `LimitNOFILE=65536` in its systemd unit, or `--ulimit nofile=65536` of Docker.'

/**
 * File descriptors that this process may have open. Node raises the soft limit to the hard one when it starts. Where the limit cannot be
 * read, a low one is assumed.
 */
export function openFileLimit(platform: NodeJS.Platform = process.platform): number {
  if (platform === 'win32') return Number.POSITIVE_INFINITY
  try {
    return parseOpenFileLimit(readFileSync('/proc/self/limits', 'utf8')) ?? limits.assumedOpenFiles
  } catch {
    return limits.assumedOpenFiles
  }
}

/** The soft limit in the text of `/proc/<pid>/limits`. */
export function parseOpenFileLimit(text: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(text) ?? []
  if (soft === undefined) return undefined
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}

/**
 * Divides the descriptors that databases, threads and modules do not need among the ports. Each port has a share of its own:
 * clients that hold all connections of the API lock nobody out of the others.
 */
export function connectionShares(openFiles: number): ConnectionShares {
  const connections = openFiles - limits.reservedDescriptors
  if (connections < limits.leastConnections) {
    const least = limits.reservedDescriptors + limits.leastConnections
    throw new ShoalError(
      'ERR_IO',
      `The limit of open files is ${openFiles}, a node needs at least ${least}. ${raiseOpenFiles}`,
    )
  }
  const other = Math.min(limits.connectionsOfOtherPorts, Math.floor(connections / 16))
  return { api: Math.min(limits.connections, connections - 2 * other), admin: other, swarm: other }
}

/**
 * Whether something has failed for want of file descriptors. Modules and databases that could not be opened do not always say why:
 * then it is tried whether there is one.
 */
export function isOutOfDescriptors(error: unknown): boolean {
  const codes = ['EMFILE', 'ENFILE', 'ERR_WORKER_INIT_FAILED']
  return codes.includes(systemCode(error) ?? '') || !hasDescriptor()
}

function hasDescriptor(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    return !['EMFILE', 'ENFILE'].includes(systemCode(error) ?? '')
  }
}
