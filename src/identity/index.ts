export { adminSignInMessage } from './admin-sign-in.ts'
export { type Admitted, admitApp, type Licensing } from './admission.ts'
export { appIdProblem, nodeAppId } from './app-id.ts'
export { decodeBase64 } from './base64.ts'
export { weaknessOf } from './curve.ts'
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
export type { Manifest } from './manifests.ts'
export { nodeCertificate, nodeOfCertificate } from './node-certificate.ts'
export { type App, Tokens, tokenValiditySeconds } from './tokens.ts'
