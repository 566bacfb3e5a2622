import { closeSync, openSync, readFileSync } from 'node:fs'
import { ShoalError, systemCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'

/** Maximum number of open connections per port. */
export interface ConnectionShares {
  readonly api: number
  readonly admin: number
  readonly swarm: number
}

/** How to raise the limit of open files, for error messages. */
export const raiseOpenFiles =
  'Raise it with `ulimit -n 65536` in the shell that starts the node, `LimitNOFILE=65536` in its systemd unit, or `--ulimit nofile=65536` of Docker.'

/**
 * The limit of open file descriptors (RLIMIT_NOFILE). Node raises the soft limit to the hard one when it starts. Where
 * the limit cannot be read, a low one is assumed.
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
 * Divides the file descriptors among the ports, after a reserve for databases, threads and modules. Each port has its
 * own share, so that clients that use up the connections of the API do not lock anyone out of the other ports.
 */
export function connectionsPerPort(openFiles: number): ConnectionShares {
  const connections = openFiles - limits.reservedDescriptors
  if (connections < limits.minConnections) {
    const required = limits.reservedDescriptors + limits.minConnections
    throw new ShoalError(
      'ERR_IO',
      `The limit of open files is ${openFiles}, a node needs at least ${required}. ${raiseOpenFiles}`,
    )
  }
  const other = Math.min(limits.connectionsPerOtherPort, Math.floor(connections / 16))
  return { api: Math.min(limits.connections, connections - 2 * other), admin: other, swarm: other }
}

/**
 * Whether an error was caused by file descriptor exhaustion. Modules and databases that could not be opened do not
 * always say why, so this also probes whether a descriptor is free.
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
