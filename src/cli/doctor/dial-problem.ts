/** The kinds of failed connections that need different advice. */
export type DialProblem =
  | 'refused'
  | 'timeout'
  | 'no route'
  | 'own firewall'
  | 'name'
  | 'swarm key'
  | 'topic'
  | 'another node'
  | 'itself'
  | 'address'
  | 'other'

/** Matches the reasons that nodes give (`swarm/host/dial-failure.ts`), and errors of Node.js in commands. */
const patterns: readonly (readonly [DialProblem, RegExp])[] = [
  ['swarm key', /another swarm key|uses no swarm key|before the swarm key could be checked|exchange of the swarm key/],
  ['topic', /the node is in the topic /],
  ['itself', /address of this node itself/],
  ['another node', /(another node|a node with another kind of key) has this address|wrong PeerId/],
  ['own firewall', /firewall of this machine|\bEACCES\b|\bEPERM\b/],
  ['refused', /connection refused|\bECONNREFUSED\b|no node runs/],
  ['timeout', /time-out|timeout|\bETIMEDOUT\b/],
  ['no route', /no route|host is down|no address from which|\bEHOSTUNREACH\b|\bENETUNREACH\b|\bEADDRNOTAVAIL\b/],
  ['name', /host name cannot be resolved|no addresses found|\bENOTFOUND\b|\bEAI_AGAIN\b/],
  ['address', /cannot be (dialled|connected to)|kind of address/],
]

export function dialProblem(reason: string): DialProblem {
  return patterns.find(([, pattern]) => pattern.test(reason))?.[0] ?? 'other'
}
