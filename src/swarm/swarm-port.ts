import { createServer, type Server } from 'node:net'
import type { Logger } from '../logging/index.ts'

/**
 * Holds the port on which nodes will talk to each other. Replication is not there yet, so a connection is closed at
 * once: a peer sees that this node is up and has nothing to say, instead of waiting for an answer.
 */
export function swarmPort(log: Logger): Server {
  return createServer((socket) => {
    log.debug('connection closed: this version does not replicate', { remote: socket.remoteAddress })
    socket.on('error', () => {})
    socket.destroy()
  })
}
