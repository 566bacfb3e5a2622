export type { AddressSource, DialFailed, KnownAddress, KnownPeer, KnownSession } from './known-peer.ts'
