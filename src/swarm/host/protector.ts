import type { ConnectionProtector, MessageStream, MultiaddrConnection } from '@libp2p/interface'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { ProtectedConnection } from './protected-connection.ts'

export interface ProtectorOptions {
  /** The 32 bytes of the swarm key. */
  readonly swarmKey: Uint8Array
  readonly runtime: Runtime
  /** A connection has ended before the swarm key was known to be the same on both sides. */
  readonly onFailure: (connection: MultiaddrConnection, failure: Error) => void
}

/**
 * Encrypts connections with the swarm key, byte by byte like the private networks of libp2p. Why it is not
 * `@libp2p/pnet` is in docs/decisions/0050-host.md.
 */
export function swarmKeyProtector(options: ProtectorOptions): () => ConnectionProtector {
  const protector: ConnectionProtector = {
    async protect(connection: MultiaddrConnection): Promise<MessageStream> {
      const stream = new ProtectedConnection(connection, options, (failure) => options.onFailure(connection, failure))
      await stream.ready
      return stream
    },
  }
  return () => protector
}
