import { chmodSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { messageOf, ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { ConnectionLimit } from '../listening/connection-limit.ts'
import type { Logger } from '../logging/index.ts'
import { sleep, type Timers } from '../runtime/timers.ts'
import { controlSocketOf, isTooLongForSocket, pathFileOf, socketName, writePathFile } from './control-path.ts'

export interface ControlSocketOptions {
  /** The data folder, locked by this process. */
  readonly folder: string
  readonly server: () => Server
  readonly log: Logger
  readonly timers: Timers
  /** For private folders, when the path of the data folder is too long for a socket. */
  readonly temporaryFolder?: string
}

/**
 * The control socket of a running node: HTTP over a Unix socket that only the owner of the data folder can connect to.
 * It is in the data folder, or, where that is not possible, in a private temporary folder that a file in the data folder
 * names.
 */
export class ControlSocket {
  readonly path: string
  readonly #server: Server
  readonly #timers: Timers
  readonly #remove: () => void

  private constructor(path: string, server: Server, timers: Timers, remove: () => void) {
    this.path = path
    this.#server = server
    this.#timers = timers
    this.#remove = remove
  }

  /** Opens the socket. Without one a node works, but commands cannot reach it: that is a warning. */
  static async open(options: ControlSocketOptions): Promise<ControlSocket | undefined> {
    const { folder } = options
    try {
      removeStale(folder)
      return await ControlSocket.#openIn(folder, options, () => removeStale(folder))
    } catch (error) {
      return await ControlSocket.#openElsewhere(options, error)
    }
  }

  static async #openElsewhere(options: ControlSocketOptions, reason: unknown): Promise<ControlSocket | undefined> {
    const { folder, log, temporaryFolder = tmpdir() } = options
    try {
      // Only for its owner, whatever the umask is.
      const made = mkdtempSync(join(temporaryFolder, 'shoal-'))
      writePathFile(folder, join(made, socketName))
      const opened = await ControlSocket.#openIn(made, options, () => removeStale(folder))
      log.info(`The control socket is \`${opened.path}\`, since it cannot be in the data folder: ${messageOf(reason)}.`)
      return opened
    } catch (error) {
      removeStale(folder)
      log.warn(
        `Commands such as \`shoal settings set\` cannot reach this node. In the data folder: ${messageOf(reason)}. In the temporary folder: ${messageOf(error)}. A shorter TMPDIR or --working-dir helps if a path is too long.`,
      )
      return undefined
    }
  }

  static async #openIn(folder: string, options: ControlSocketOptions, remove: () => void): Promise<ControlSocket> {
    const { log, timers } = options
    const path = join(folder, socketName)
    if (isTooLongForSocket(path)) throw new ShoalError('ERR_IO', `the path \`${path}\` is too long for a socket`)
    const server = options.server()
    const refused = (): void => log.warn(`all ${limits.controlConnections} connections to the control socket are open`)
    new ConnectionLimit(limits.controlConnections, refused).add(server)
    await listenPrivately(server, path)
    return new ControlSocket(path, server, timers, remove)
  }

  /** Stops accepting, lets requests finish within the grace period, and removes the socket. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeIdleConnections()
    await Promise.race([closed, sleep(this.#timers, limits.stopGraceMs, { unref: true })])
    this.#server.closeAllConnections()
    this.#remove()
  }
}

/**
 * Removes the socket of this node, or that of a killed one: the caller has the lock of the data folder, so no other
 * process uses it.
 */
function removeStale(folder: string): void {
  const path = controlSocketOf(folder)
  rmSync(path, { force: true })
  const isElsewhere = path !== join(folder, socketName)
  if (isElsewhere && basename(path) === socketName) removeEmptyFolder(dirname(path))
  rmSync(pathFileOf(folder), { force: true })
}

function removeEmptyFolder(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Removed already, or not empty: then it is not the folder of a socket.
  }
}

/** Listens on a socket that other users cannot connect to, not even before its mode is set. */
async function listenPrivately(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // The socket is created before `listen` returns.
    const before = process.umask(0o077)
    try {
      server.listen({ path, backlog: limits.listenBacklog }, () => {
        server.off('error', reject)
        resolve()
      })
    } finally {
      process.umask(before)
    }
  })
  chmodSync(path, 0o600)
}
