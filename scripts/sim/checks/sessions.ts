import { faultsOf } from '../faults/index.ts'
import type { Swarm } from '../swarm.ts'

/**
 * With these a node has to assume that its peer does not follow the protocol. A simulated process that stands still may
 * send over a connection that it does not know yet.
 */
const excuses: readonly string[] = ['loss', 'reordering', 'corruption', 'old-copies', 'stalls']

/** Honest nodes do not end sessions with each other: nothing that one accepts and relays is refused by another. */
export function checkSessions(swarm: Swarm): void {
  if (faultsOf(swarm.scenario).some((name) => excuses.includes(name))) return
  const honest = new Map(swarm.nodes.map(({ name, label }) => [name, label]))
  swarm.onClose = (by, peer) => {
    if (honest.has(by) && honest.has(peer))
      swarm.agenda.fail(new Error(`${honest.get(by)} ends its session with ${honest.get(peer)}, which is honest`))
  }
}
