import { simStart } from '../swarm.ts'
import type { Fault } from './fault.ts'

const year = 365 * 86_400e6
const hour = 3600e6
/** A swarm of fewer nodes has nothing to exchange. */
const leastNodes = 2

export const nodeFaults: readonly Fault[] = [
  {
    name: 'restarts',
    share: 0.7,
    plan: (swarm, random) => {
      const count = 1 + random.below(3)
      for (let i = 0; i < count; i++) swarm.sometime(random, () => swarm.start(swarm.restart(swarm.any(random))))
    },
  },
  {
    name: 'sealing',
    share: 0.5,
    plan: (swarm, random) => {
      const count = 1 + random.below(5)
      for (let i = 0; i < count; i++) swarm.sometime(random, () => swarm.any(random).disk.seal())
    },
  },
  {
    name: 'late-joins',
    share: 0.4,
    plan: (swarm, random) => {
      const count = 1 + random.below(2)
      for (let i = 0; i < count; i++)
        swarm.joinsAt.set(swarm.any(random), random.next() * 1.2 * swarm.scenario.publishMs)
    },
  },
  {
    name: 'leaves',
    share: 0.2,
    plan: (swarm, random) => {
      const count = 1 + random.below(2)
      for (let i = 0; i < count; i++)
        swarm.sometime(random, () => {
          if (swarm.nodes.length > leastNodes) swarm.leave(swarm.any(random))
        })
    },
  },
  {
    name: 'clock-jumps',
    share: 0.2,
    plan: (swarm, random) => {
      const count = 1 + random.below(2)
      for (let i = 0; i < count; i++)
        swarm.sometime(random, () => {
          const { clock } = swarm.any(random)
          const jump = Math.round((random.chance(0.5) ? 1 : -1) * (1.5 + 8 * random.next()) * hour)
          clock.wallAtStart += jump
          swarm.whenFaultsEnd(() => {
            clock.wallAtStart -= jump
          })
        })
    },
  },
  {
    name: 'stalls',
    share: 0.15,
    plan: (swarm, random) => {
      const count = 1 + random.below(3)
      for (let i = 0; i < count; i++)
        swarm.sometime(random, () => swarm.stall(swarm.any(random), 500 + random.below(6000)))
    },
  },
  {
    name: 'slow-disks',
    share: 0.2,
    plan: (swarm, random) => {
      for (const { diskFaults } of swarm.nodes)
        if (random.chance(0.5)) {
          diskFaults.delayMs = 1 + random.below(300)
          diskFaults.failures = random.chance(0.5) ? 0.05 : 0
        }
      swarm.whenFaultsEnd(() => {
        for (const { diskFaults } of swarm.nodes) Object.assign(diskFaults, { delayMs: 0, failures: 0 })
      })
    },
  },
  {
    name: 'full-disks',
    share: 0.2,
    plan: (swarm, random) => {
      const count = 1 + random.below(3)
      for (let i = 0; i < count; i++)
        swarm.sometime(random, () => {
          const { blocks } = swarm.any(random).files
          blocks.refusal = random.chance(0.5) ? 'noRoom' : 'failed'
          swarm.agenda.after(random.next() * 10_000, () => {
            blocks.refusal = undefined
          })
        })
    },
  },
  {
    name: 'settings',
    share: 0.2,
    plan: (swarm, random) => {
      const count = 1 + random.below(3)
      for (let i = 0; i < count; i++)
        swarm.sometime(random, () => {
          const node = swarm.any(random)
          const gossip = 2000 + random.below(6000)
          node.configure({ isReadOnly: random.chance(0.5), gossip })
          swarm.agenda.after(random.next() * 10_000, () => node.configure({ gossip }))
          swarm.whenFaultsEnd(() => node.configure({}))
        })
    },
  },
  {
    name: 'clock-skew',
    share: 0.4,
    plan: (swarm, random) => {
      for (const { clock } of swarm.nodes)
        if (random.chance(0.4))
          clock.wallAtStart += Math.round((random.next() - 0.5) * (random.chance(0.5) ? 2 * year : 20 * hour))
      swarm.whenFaultsEnd(() => {
        // Later than any clock was, so that nothing is too far ahead any more.
        for (const { clock } of swarm.nodes) clock.wallAtStart = simStart + 2 * year
      })
    },
  },
]
