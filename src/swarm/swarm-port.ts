import { createServer, type Server } from 'node:net'
import type { Logger } from '../logging/index.ts'

/**
 * Binds the swarm port of a node that stands alone, or until the swarm thread takes it over. Every connection is closed at
 * once: a peer sees that this node is up, instead of waiting for a handshake.
 */
export function swarmPort(log: Logger): Server {
  return createServer((socket) => {
    log.debug('connection closed: this node exchanges nothing, or not yet', { remote: socket.remoteAddress })
    socket.on('error', () => {})
    socket.destroy()
  })
}
