export {
  formatStreamId,
  type NodeId,
  nodeIdOf,
  parseNodeId,
  parsePeerId,
  parseStreamId,
  peerIdOf,
  publicKeyOf,
  type StreamId,
} from './ids.ts'
export { formatPublicKey, KeyPair, type PublicKey, parsePrivateKey, parsePublicKey, Verifier } from './keys.ts'
