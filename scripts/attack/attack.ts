import type { Random } from '../crash/random.ts'
import type { Tally } from './tally.ts'
import type { Victim } from './victim.ts'

/** What an attack gets. */
export interface Assault {
  readonly victim: Victim
  readonly tally: Tally
  readonly random: Random
  /** Aborted when the time is up, the node has ended or its memory is far beyond the bar: all connections end then. */
  readonly signal: AbortSignal
}

/** An amount that an attack sends. It lasts until then, or until the node takes no more. */
export interface Goal {
  readonly megabytes?: number
  /** Requests that are answered or refused. */
  readonly answers?: number
}

/** One way to make the node hold or do more than it should. */
export interface Attack {
  readonly name: string
  readonly description: string
  /** Milliseconds that an empty query of the bystander may take meanwhile, at the median. */
  readonly emptyQueryMs?: number
  /** The file limit of the node that this is about; it gets a node of its own. */
  readonly nofile?: number
  /** Seconds that it takes at least. */
  readonly leastSeconds?: number
  /** Milliseconds that the bystander rests between its requests: with many of them the node has no time to rest. */
  readonly bystanderPauseMs?: number
  /** Whether the attack takes all streams that there are, so that the bystander does not query meanwhile. */
  readonly takesAllStreams?: boolean
  /** What is to be sent before the attack has done what it is for; an attack that is about time alone has no goal. */
  readonly goal?: Goal
  /** Stores what the attack reads. Not measured. */
  prepare?(victim: Victim): Promise<void>
  /** Runs until the signal is aborted. Throws when the node breaks a promise that only the attacker can see. */
  run(assault: Assault): Promise<void>
}
