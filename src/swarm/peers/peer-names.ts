import { type NodeId, nodeIdOf, type PublicKey } from '../../identity/index.ts'

/** The node ID of a peer, which is named by its public key as latin1. */
export function nodeIdOfPeer(peer: string): NodeId {
  return nodeIdOf(Buffer.from(peer, 'latin1') as Uint8Array as PublicKey)
}
