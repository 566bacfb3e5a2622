import type { Fault } from './fault.ts'

export const messageFaults: readonly Fault[] = [
  {
    name: 'loss',
    share: 0.5,
    plan: ({ network }, random) => {
      network.faults.loss = random.next() * 0.1
    },
  },
  {
    name: 'duplication',
    share: 0.5,
    plan: ({ network }, random) => {
      network.faults.duplication = random.next() * 0.1
    },
  },
  {
    name: 'reordering',
    share: 0.3,
    plan: ({ network }, random) => {
      network.faults.reordering = random.next() * 0.1
    },
  },
  {
    name: 'corruption',
    share: 0.3,
    plan: ({ network }, random) => {
      network.faults.corruption = random.next() * 0.02
    },
  },
  {
    name: 'delay',
    share: 0.3,
    plan: ({ network }) => {
      network.faults.delayMs = 2000
    },
  },
  {
    name: 'slow-links',
    share: 0.2,
    plan: ({ network }, random) => {
      network.faults.bytesPerMs = 20 + random.next() * 200
    },
  },
]
