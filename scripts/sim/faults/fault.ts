import type { Random } from '../../crash/random.ts'
import type { Swarm } from '../swarm.ts'

/** Something that goes wrong, or changes, until the faults end. */
export interface Fault {
  /** The name for `--with` and `--without`. */
  readonly name: string
  /** The share of the seeds that have it. */
  readonly share: number
  /** Decides with random numbers of its own what happens when. Called before anything has happened. */
  plan(swarm: Swarm, random: Random): void
}
