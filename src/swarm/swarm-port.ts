import { createServer, type Server } from 'node:net'
import type { Logger } from '../logging/index.ts'

/**
 * Binds the swarm port. Replication over the network is not implemented yet, so every connection is closed at once: a
 * peer sees that this node is up, instead of waiting for a handshake.
 */
export function swarmPort(log: Logger): Server {
  return createServer((socket) => {
    log.debug('connection closed: this version does not replicate', { remote: socket.remoteAddress })
    socket.on('error', () => {})
    socket.destroy()
  })
}
