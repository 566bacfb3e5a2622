import { connect } from 'node:net'
import type { Inspected } from '../../admin/index.ts'
import { connectReason } from '../../base/connect-reason.ts'
import { messageOf } from '../../base/errors.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { SettingsDocument } from '../../settings/index.ts'
import type { PeerFacts } from './facts.ts'

/** Time-out for a connection to an initial peer, in milliseconds. */
const dialMs = 3000

/** Maximum number of initial peers that are dialled for a stopped node. */
const dialledPeers = 32

const initialPeer = /^(\/(?:ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/(\d+))\/p2p\/([^/]+)$/

/** The peers that a running node knows, with its newest failure to connect to each. */
export function knownPeers({ connections, knownPeers: known }: Inspected, settings: SettingsDocument): PeerFacts[] {
  const connected = new Set(connections.map(({ peerId }) => peerId))
  const initial = new Set(settings.swarm.initialPeers.map((address) => initialPeer.exec(address)?.[4] ?? ''))
  return known.map(({ peerId, info, failures }) => {
    const [newest] = failures
    return {
      peerId,
      name: info.agentVersion,
      isInitial: initial.has(peerId),
      isConnected: connected.has(peerId),
      ...(newest !== undefined && { failure: { address: newest.addr, reason: newest.display } }),
    }
  })
}

/** Dials the initial peers of a stopped node by TCP. Only a node can tell whether they have the same swarm key. */
export async function dialledInitialPeers(settings: SettingsDocument, timers: Timers): Promise<PeerFacts[]> {
  const addresses = settings.swarm.initialPeers.slice(0, dialledPeers)
  return await Promise.all(
    addresses.map(async (text) => {
      const [, address = text, host = '', port = '', peerId = ''] = initialPeer.exec(text) ?? []
      const reason = await dial(host, Number(port), timers)
      const failure = reason === undefined ? undefined : { address, reason }
      return { peerId, name: '', isInitial: true, isConnected: reason === undefined, failure }
    }),
  )
}

/** Connects and closes the connection. Returns the reason of a failure. */
function dial(host: string, port: number, timers: Timers): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const timer = timers.setTimeout(() => ended('no answer within the time-out'), dialMs)
    const ended = (reason: string | undefined): void => {
      timers.clear(timer)
      socket.destroy()
      resolve(reason)
    }
    socket.once('connect', () => ended(undefined))
    socket.on('error', (error) => ended(connectReason(error) ?? messageOf(error)))
  })
}
