import type { NodeId } from './ids.ts'

/** What a user signs to sign in to a node. It names the node, so that another one cannot use the signature. */
export function adminSignInMessage(node: NodeId, challenge: string): Uint8Array {
  return Buffer.from(`shoal-admin${node}${challenge}`)
}
