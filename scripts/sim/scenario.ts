import { Random } from '../crash/random.ts'
import type { SignatureScheme } from './signatures.ts'
import type { StoreKind } from './sim-store.ts'

export type Shape = 'mesh' | 'line' | 'star' | 'halves'
export const shapeNames: readonly Shape[] = ['mesh', 'line', 'star', 'halves']
const shapes = ['mesh', 'mesh', 'line', 'star', 'halves'] as const

/** Each node with a database of its own needs memory and file descriptors. */
const mostSqliteNodes = 20

/** What a seed runs. The same scenario always runs the same way. */
export interface Scenario {
  readonly seed: string
  readonly nodes: number
  readonly shape: Shape
  readonly store: StoreKind
  readonly signatures: SignatureScheme['name']
  readonly publishes: number
  /** Milliseconds of virtual time in which events are published and faults occur. */
  readonly publishMs: number
  /** Whether messages, links and nodes fail. */
  readonly faults: boolean
  /** Faults that are left out. */
  readonly without: readonly string[]
  /** Faults that occur whatever the seed says. */
  readonly with: readonly string[]
  /** Whether clients query and subscribe. */
  readonly clients: boolean
}

/** The scenario of a seed, in which single members can be given. */
export function scenarioOf(seed: string, given: Partial<Omit<Scenario, 'seed'>> = {}): Scenario {
  const random = new Random(`${seed} scenario`)
  // 3 to 10, most of them small: many small swarms find more in the same time.
  const number = 3 + Math.min(random.below(8), random.below(8))
  const nodes = given.nodes ?? number
  const chance = random.next()
  return {
    seed,
    nodes,
    shape: random.pick(shapes),
    store: chance < 0.1 && nodes <= mostSqliteNodes ? 'sqlite' : 'memory',
    signatures: random.chance(0.05) ? 'ed25519' : 'stand-in',
    publishes: 30,
    publishMs: 20_000,
    faults: true,
    without: [],
    with: [],
    clients: true,
    ...given,
  }
}

/** Whether two nodes of a swarm, by number, are linked. */
export function isLinked(shape: Shape, a: number, b: number, nodes: number): boolean {
  const half = Math.floor(nodes / 2)
  if (shape === 'line') return b === a + 1
  if (shape === 'star') return a === 0
  // Both halves are complete, and the first node of the second half is part of both.
  if (shape === 'halves') return b <= half || a >= half
  return true
}
