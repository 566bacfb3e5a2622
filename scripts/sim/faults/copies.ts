import type { StartMarks } from '../../../src/store/port/index.ts'
import type { Random } from '../../crash/random.ts'
import type { Swarm } from '../swarm.ts'
import type { WholeNode } from '../whole-node.ts'
import type { Fault } from './fault.ts'

export const copyFaults: readonly Fault[] = [
  {
    name: 'lost-foreign-events',
    share: 0.3,
    plan: (swarm, random) => planCopies(swarm, random, ({ ownEvents }, now) => ownEvents === now),
  },
  {
    name: 'old-copies',
    share: 0.2,
    plan: (swarm, random) => planCopies(swarm, random, () => true),
  },
  {
    // Nothing is lost, but the node cannot know that.
    name: 'crashes',
    share: 0.2,
    plan: (swarm, random) => {
      const count = 1 + random.below(2)
      for (let i = 0; i < count; i++) swarm.sometime(random, () => swarm.start(swarm.crash(swarm.any(random))))
    },
  },
]

/** How a node finds the copy of its store. */
const found: readonly [Partial<StartMarks>, ...Partial<StartMarks>[]] = [
  { isCleanStop: false },
  { isSameFile: false },
  { isRestored: true },
]

/** After this time without faults a peer was compared, if any has events of the node. */
const acceptMs = 30_000

interface Copied {
  /** Number of own events at the time of the copy. */
  readonly ownEvents: number
  readonly removals: number
}

/** Copies the stores of some nodes, and lets them continue from the copy later. */
function planCopies(swarm: Swarm, random: Random, mayRestore: (copied: Copied, ownEvents: number) => boolean): void {
  const count = 1 + random.below(3)
  swarm.whenFaultsEnd(() => {
    swarm.agenda.after(acceptMs, () => {
      for (const node of swarm.nodes) node.accept()
    })
  })
  for (let i = 0; i < count; i++)
    swarm.sometime(random, () => {
      const node = swarm.any(random)
      const { disk } = node
      const copied = { ownEvents: ownEventsOf(swarm, node), removals: swarm.ledger.removals }
      disk.copy()
      swarm.agenda.after(random.next() * 10_000, () => {
        const isInTime = swarm.agenda.nowMs < swarm.scenario.publishMs && swarm.nodes.includes(node)
        const now = ownEventsOf(swarm, node)
        // What was removed since would come back, which is the business of the operator.
        if (!isInTime || copied.removals !== swarm.ledger.removals || !mayRestore(copied, now)) return
        if (copied.ownEvents < now) swarm.forgotten(node)
        swarm.start(swarm.restore(node, random.pick(found)))
      })
    })
}

function ownEventsOf({ ledger }: Swarm, node: WholeNode): number {
  return ledger.countsOf(node.id).reduce((sum, [, count]) => sum + count, 0)
}
