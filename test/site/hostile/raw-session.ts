import type { Connection, MessageStream, Stream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { nodeIdOf, type PublicKey } from '../../../src/identity/index.ts'
import { lengthPrefix } from '../../../src/swarm/host/frames.ts'
import { boundedYamux } from '../../../src/swarm/host/muxer.ts'
import { encodeOpening } from '../../../src/swarm/host/opening.ts'
import { encodeMessage } from '../../../src/swarm/index.ts'
import { rawPeer } from '../../swarm/host/raw-peer.ts'
import { untilLogged } from '../swarm-of.ts'
import { dialAddressOf, wireTopic } from '../wire-peer.ts'
import type { Victim } from './victim.ts'

/** A session whose streams, and the yamux frames below them, are written byte by byte. */
export interface RawSession {
  readonly nodeId: string
  readonly connection: Connection
  readonly streams: Readonly<Record<'live' | 'sync' | 'blocks', Stream>>
  /** The bytes below yamux. */
  readonly below: MessageStream
}

export async function rawSession({ t, node }: Victim): Promise<RawSession> {
  let below: MessageStream | undefined
  const factory = boundedYamux()()
  const peer = await rawPeer(t, () => ({
    protocol: factory.protocol,
    createStreamMuxer(connection) {
      below = connection
      return factory.createStreamMuxer(connection)
    },
  }))
  const connection = await peer.dial(multiaddr(dialAddressOf(node)))
  if (below === undefined) throw new Error('no muxer was made')
  const open = (channel: string): Promise<Stream> => connection.newStream(`/shoal/${channel}/1`)
  const streams = { live: await open('live'), sync: await open('sync'), blocks: await open('blocks') }
  for (const stream of Object.values(streams)) stream.addEventListener('message', () => {})
  const nodeId = nodeIdOf(peer.peerId.toCID().multihash.digest.subarray(4) as PublicKey)
  sendFrame(streams.live, encodeOpening({ topic: wireTopic }))
  await untilLogged(node, new RegExp(`connected to ${nodeId.replaceAll('.', '\\.')}`))
  const hello = { is: 'hello', version: 1, features: [], required: [], time: Date.now() * 1000 } as const
  sendFrame(streams.live, encodeMessage(hello))
  return { nodeId, connection, streams, below }
}

export function sendFrame(stream: Stream, bytes: Uint8Array): void {
  stream.send(Buffer.concat([lengthPrefix(bytes.length), bytes]))
}
