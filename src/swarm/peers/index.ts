export { parseTcpAddress } from './address.ts'
export { type Dial, Dialler, type DiallerOptions } from './dialler.ts'
export { DiscoveredAddresses } from './discovered-addresses.ts'
export {
  type AddressOrigin,
  type Discovery,
  discoveryPayload,
  isPublic,
  type PublishedAddress,
  parseDiscovery,
} from './discovery.ts'
export type { Introduction, NodeAddresses } from './introductions.ts'
export type { AddressSource, DialFailed, KnownAddress, KnownPeer, KnownSession } from './known-peer.ts'
export { ObservedAddresses } from './observed-addresses.ts'
export { PeerBudgets } from './peer-budgets.ts'
export { nodeIdOfPeer } from './peer-names.ts'
