import { privateKeyFromRaw } from '@libp2p/crypto/keys'
import { identify } from '@libp2p/identify'
import type { Libp2p, MultiaddrConnection } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import type { Multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { limits } from '../../base/limits.ts'
import type { KeyPair } from '../../identity/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { nameOfPeer } from './addresses.ts'
import { HandshakeFailure } from './dial-failure.ts'
import { InboundLimit } from './inbound-limit.ts'
import { boundedYamux } from './muxer.ts'
import { swarmKeyProtector } from './protector.ts'
import { silentLogger } from './silent-logger.ts'

export interface Libp2pOptions {
  readonly key: KeyPair
  readonly swarmKey: Uint8Array
  readonly listen: readonly string[]
  readonly agent: string
  readonly runtime: Runtime
  /** The addresses to tell other nodes, of those that it listens on. */
  readonly announced: (listening: Multiaddr[]) => Multiaddr[]
  readonly accepts: (peer: string) => boolean
  /** A connection that failed before the swarm key was known to be the same. */
  readonly onKeyFailure: (connection: MultiaddrConnection, failure: Error) => void
}

/** libp2p with what a swarm needs, and with limits for a site where all nodes restart at once. It is not started. */
export async function createNode(options: Libp2pOptions): Promise<Libp2p> {
  const { key, swarmKey, runtime } = options
  const setupMs = limits.sessionSetupMs
  const inbound = new InboundLimit()
  return await createLibp2p({
    start: false,
    privateKey: privateKeyFromRaw(Buffer.concat([seedOf(key), key.publicKey])),
    addresses: { listen: [...options.listen], announceFilter: options.announced },
    logger: silentLogger,
    nodeInfo: { userAgent: options.agent },
    transports: [
      tcp({
        // Silent peers are found by pings; the time-out of the socket is only the last resort.
        inboundSocketInactivityTimeout: limits.stalledMs * 2,
        outboundSocketInactivityTimeout: limits.stalledMs * 2,
        maxConnections: limits.swarmConnections + limits.pendingSwarmConnections,
        backlog: limits.listenBacklog,
      }),
    ],
    connectionProtector: swarmKeyProtector({ swarmKey, runtime, onFailure: options.onKeyFailure }),
    connectionEncrypters: [noise()],
    streamMuxers: [boundedYamux()],
    connectionGater: {
      denyDialMultiaddr: () => false,
      denyInboundConnection: (connection) => {
        const isAdmitted = inbound.admit(connection)
        if (!isAdmitted) options.onKeyFailure(connection, new HandshakeFailure('too many connections from one address'))
        return !isAdmitted
      },
      denyInboundEncryptedConnection: (peer) => {
        const name = nameOfPeer(peer)
        return name === undefined || !options.accepts(name)
      },
    },
    connectionManager: {
      maxConnections: limits.swarmConnections,
      maxIncomingPendingConnections: limits.pendingSwarmConnections,
      inboundConnectionThreshold: limits.swarmConnectionsPerSecond,
      dialTimeout: setupMs,
      inboundUpgradeTimeout: setupMs,
      inboundStreamProtocolNegotiationTimeout: setupMs,
      outboundStreamProtocolNegotiationTimeout: setupMs,
      // Retrying is decided elsewhere.
      reconnectRetries: 0,
    },
    // Its pings open a stream each time; pings are messages of the live stream.
    connectionMonitor: { enabled: false },
    services: { identify: identify({ timeout: limits.identifyMs, maxInboundStreams: 1, maxOutboundStreams: 1 }) },
  })
}

/** The private key text is `0` and the base64 of the seed. */
function seedOf(key: KeyPair): Buffer {
  return Buffer.from(key.toPrivateText().slice(1), 'base64')
}
