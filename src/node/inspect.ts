import type { Inspected, InspectedPeer } from '../admin/index.ts'
import { type KeyPair, nodeIdOf, type PublicKey, peerIdOf } from '../identity/index.ts'
import { multiaddressText } from '../listening/listen.ts'
import { versionParts } from '../runtime/version.ts'
import type { SwarmSnapshot } from '../swarm/index.ts'
import type { Addresses } from './listeners.ts'

type KnownPeer = SwarmSnapshot['knownPeers'][number]
type Source = KnownPeer['addresses'][number]['sources'][number]

/** The names of sources that the reference system has, the most telling first. */
const sourceNames: readonly (readonly [Source, string])[] = [
  ['dialled', 'Dial'],
  ['initial', 'User'],
  ['mdns', 'Mdns'],
  ['identify', 'Listen'],
  ['introduced', 'Candidate'],
  ['event', 'Candidate'],
]

/** Newest failures of a peer that are shown. */
const shownFailures = 10

/** What `nodes inspect` shows. Without a swarm, or before its thread has told anything, there are no peers. */
export function inspected(key: KeyPair, addresses: Addresses, snapshot: SwarmSnapshot | undefined): Inspected {
  const { connections = [], knownPeers = [] } = snapshot ?? {}
  const time = timesOf(snapshot)
  return {
    nodeId: nodeIdOf(key.publicKey),
    nodeVersion: versionParts,
    peerId: peerIdOf(key.publicKey),
    swarmAddrs: snapshot?.listenAddresses ?? addresses.swarm.map(multiaddressText),
    announceAddrs: [...new Set([...(snapshot?.announcedAddresses ?? []), ...(snapshot?.observedAddresses ?? [])])],
    adminAddrs: addresses.admin.map(multiaddressText),
    apiAddrs: addresses.api.map(multiaddressText),
    connections: connections.map(({ peer, address, since, direction }) => ({
      peerId: peerIdIn(peer),
      addr: address,
      since: time(since),
      outbound: direction === 'outbound',
    })),
    knownPeers: knownPeers.map((known) => peerOf(known, snapshot, time)),
  }
}

function peerOf(
  { peer, addresses, failures }: KnownPeer,
  snapshot: SwarmSnapshot | undefined,
  time: (steadyMs: number) => string,
): InspectedPeer {
  const connection = snapshot?.connections.find((one) => one.peer === peer)
  const listeners = addresses.filter(({ sources }) => sources.includes('identify')).map(({ address }) => address)
  return {
    peerId: peerIdIn(peer),
    info: { protocolVersion: '', agentVersion: connection?.agent ?? '', protocols: [], listeners },
    addrs: addresses.map(({ address }) => address),
    addrSource: addresses.map(({ sources }) => sourceOf(sources)),
    addrSince: addresses.map(({ since }) => time(since)),
    failures: failures
      .slice(0, shownFailures)
      .map(({ address, at, reason }) => ({ addr: address, time: time(at), display: reason, details: reason })),
    pingStats: connection?.ping ?? null,
  }
}

function sourceOf(sources: readonly Source[]): string {
  return sourceNames.find(([source]) => sources.includes(source))?.[1] ?? 'Candidate'
}

function peerIdIn(peer: string): string {
  return peerIdOf(Buffer.from(peer, 'latin1') as Uint8Array as PublicKey)
}

/** Converts times of the swarm thread. */
function timesOf(snapshot: SwarmSnapshot | undefined): (steadyMs: number) => string {
  const { wallMs, steadyMs } = snapshot ?? { wallMs: 0, steadyMs: 0 }
  return (at) => new Date(wallMs - steadyMs + at).toISOString()
}
