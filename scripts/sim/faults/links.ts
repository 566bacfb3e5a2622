import type { Random } from '../../crash/random.ts'
import type { Swarm } from '../swarm.ts'
import type { Fault } from './fault.ts'

export const linkFaults: readonly Fault[] = [
  {
    name: 'partitions',
    share: 0.7,
    plan: (swarm, random) => {
      const count = 1 + random.below(3)
      for (let i = 0; i < count; i++) swarm.sometime(random, () => partition(swarm, random))
    },
  },
  {
    name: 'lost-connections',
    share: 0.7,
    plan: (swarm, random) => {
      const count = 1 + random.below(5)
      for (let i = 0; i < count; i++) swarm.sometime(random, () => swarm.network.isolate(swarm.any(random).name))
    },
  },
]

/** Splits the nodes in two groups at random, for a while. */
function partition({ nodes, network, trace, agenda }: Swarm, random: Random): void {
  const group = new Map(nodes.map(({ name }) => [name, random.chance(0.5)]))
  trace.note('partition')
  network.partition((a, b) => group.get(a) === group.get(b))
  agenda.after(random.next() * 10_000, () => {
    trace.note('healed')
    network.partition(() => true)
  })
}
