import type { Inspected } from '../../admin/index.ts'
import { escapeLine } from '../../base/control-characters.ts'
import { table } from '../output/table.ts'

/** What `nodes inspect` prints for people. */
export function inspectText(inspected: Inspected): string {
  const { peerId, nodeId, nodeVersion, swarmAddrs, announceAddrs, adminAddrs, connections, knownPeers } = inspected
  const { version, gitHash, target, profile } = nodeVersion
  const failures = knownPeers
    .flatMap(({ peerId: peer, failures: failed }) => failed.map((failure) => ({ peer, ...failure })))
    .sort((a, b) => (a.time < b.time ? -1 : 1))
  const pings = knownPeers.flatMap(({ peerId: peer, pingStats }) =>
    pingStats === null ? [] : [{ peer, ...pingStats }],
  )
  return [
    `PeerId: ${peerId}`,
    `NodeId: ${nodeId}`,
    `Node version: ${version}-${gitHash}-${target}-${profile}`,
    ...listed('SwarmAddrs', swarmAddrs),
    ...listed('AnnounceAddrs', announceAddrs),
    ...listed('AdminAddrs', adminAddrs),
    'Connections:',
    table(
      ['PEERID', 'ADDRESS', 'DIRECTION', 'SINCE'],
      connections.map(({ peerId: peer, addr, outbound, since }) => [peer, addr, outbound ? 'out' : 'in', since]),
    ),
    'KnownPeers:',
    table(
      ['PEERID', 'NAME', 'ADDRESS', 'SOURCE', 'SINCE'],
      knownPeers.flatMap(({ peerId: peer, info, addrs, addrSource, addrSince }) =>
        addrs.map((addr, i) => [
          i === 0 ? peer : '',
          i === 0 ? info.agentVersion : '',
          addr,
          addrSource[i] ?? '',
          addrSince[i] ?? '',
        ]),
      ),
    ),
    'Failures:',
    table(
      ['TIME', 'ADDRESS', 'PEERID', 'MESSAGE'],
      failures.map(({ time, addr, peer, display }) => [time, addr, peer, display]),
    ),
    'Ping statistics:',
    table(
      ['PEERID', 'CURRENT', 'AVG_3', 'AVG_10', 'FAILURES', 'FAILURE_RATE'],
      pings.map(({ peer, current, decay3, decay10, failures: failed, failureRate }) => [
        peer,
        ...[current, decay3, decay10].map(durationText),
        String(failed),
        `${(failureRate / 10_000).toFixed(4)}%`,
      ]),
    ),
  ].join('\n')
}

function listed(name: string, addresses: readonly string[]): string[] {
  return addresses.length === 0
    ? [`${name}: none`]
    : [`${name}:`, ...addresses.map((address) => `    ${escapeLine(address)}`)]
}

function durationText(micros: number): string {
  return micros >= 10_000 ? `${Math.round(micros / 1000)}ms` : `${Math.round(micros)}µs`
}
