import { identify } from '@libp2p/identify'
import type { Connection, Libp2p, MessageStream, StreamMuxer, StreamMuxerFactory } from '@libp2p/interface'
import { TypedEventEmitter } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { boundedYamux } from '../../../src/swarm/host/muxer.ts'
import { swarmKeyProtector } from '../../../src/swarm/host/protector.ts'
import type { TestScope } from '../../support/folder.ts'
import { testSwarmKey } from './hosts.ts'

/** A muxer without any streams: the test writes the bytes. */
class NoMuxer extends TypedEventEmitter<never> {
  readonly protocol = '/yamux/1.0.0'
  readonly status = 'open'
  readonly streams = []
  readonly connection: MessageStream

  constructor(connection: MessageStream) {
    super()
    this.connection = connection
    connection.addEventListener('message', () => {})
  }

  createStream(): never {
    throw new Error('no streams')
  }

  async close(): Promise<void> {}
  abort(): void {}
}

/** A peer that knows the swarm key, and does with it what the test says. */
export async function rawPeer(
  test: TestScope,
  muxer?: () => StreamMuxerFactory,
  listen: string[] = [],
): Promise<Libp2p> {
  const node = await createLibp2p({
    addresses: { listen },
    transports: [tcp()],
    connectionProtector: swarmKeyProtector({
      swarmKey: Buffer.from(testSwarmKey, 'base64'),
      runtime: systemRuntime,
      onFailure: () => {},
    }),
    connectionEncrypters: [noise()],
    streamMuxers: [muxer ?? boundedYamux()],
    connectionMonitor: { enabled: false },
    services: { identify: identify() },
  })
  test.after(() => node.stop())
  return node
}

/** A connection to a host on which yamux frames are written by the test. */
export async function frameConnection(
  test: TestScope,
  address: string,
): Promise<{ connection: Connection; bytes: MessageStream }> {
  let bytes: MessageStream | undefined
  const node = await rawPeer(test, () => ({
    protocol: '/yamux/1.0.0',
    createStreamMuxer(connection: MessageStream) {
      bytes = connection
      return new NoMuxer(connection) as unknown as StreamMuxer
    },
  }))
  const connection = await node.dial(multiaddr(address))
  if (bytes === undefined) throw new Error('no muxer was made')
  return { connection, bytes }
}

/** The header of a yamux frame. */
export function yamuxHeader(type: number, flags: number, stream: number, length: number): Buffer {
  const header = Buffer.alloc(12)
  header[1] = type
  header.writeUInt16BE(flags, 2)
  header.writeUInt32BE(stream, 4)
  header.writeUInt32BE(length, 8)
  return header
}
