import { type Clock, systemClock } from './clock.ts'
import { type Random, systemRandom } from './random.ts'
import { systemTimers, type Timers } from './timers.ts'

/** The sources of nondeterminism. A simulation injects its own. */
export interface Runtime {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
}

/** For composition roots only: `node`, `cli` and the entry modules of worker threads pass it to their parts. */
export const systemRuntime: Runtime = { clock: systemClock, timers: systemTimers, random: systemRandom }
