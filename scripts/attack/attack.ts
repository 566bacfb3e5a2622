import type { Random } from '../crash/random.ts'
import type { Tally } from './tally.ts'
import type { Victim } from './victim.ts'

/** The context of an attack. */
export interface Assault {
  readonly victim: Victim
  readonly tally: Tally
  readonly random: Random
  /** Aborted when the time is up, the node has ended or its memory is far above the bound. Closes all connections. */
  readonly signal: AbortSignal
}

/** The amount that an attack sends. It ends then, or when the node accepts no more. */
export interface Goal {
  readonly megabytes?: number
  /** Responses of any kind. */
  readonly answers?: number
}

/** One way to exhaust memory, CPU or file descriptors of the node. */
export interface Attack {
  readonly name: string
  readonly description: string
  /** Bound for the median latency of an empty query of the bystander, in milliseconds. */
  readonly emptyQueryMs?: number
  /** The limit of open files that this attack needs; it gets a node of its own. */
  readonly nofile?: number
  /** Minimum duration in seconds. */
  readonly leastSeconds?: number
  /** Pause between two requests of the bystander in milliseconds: without it the node would never be idle. */
  readonly bystanderPauseMs?: number
  /** Whether the attack uses up all open streams, so that the bystander cannot query. */
  readonly takesAllStreams?: boolean
  /** What has to be sent; an attack that only lasts for a time has no goal. */
  readonly goal?: Goal
  /** Stores the data that the attack reads. Not measured. */
  prepare?(victim: Victim): Promise<void>
  /** Runs until the signal is aborted. Throws on violations that only the attacker can observe. */
  run(assault: Assault): Promise<void>
}
