import { type EventSkimmer, eventSkimmer } from './event-skimmer.ts'

export type { EventSkimmer }

/**
 * The optional mechanisms that make the node faster and its code harder to read. Each has a plain alternative with the
 * same results. `docs/performance.md` has the gain of each.
 */
interface FastPaths {
  /** Parses events in the form in which JSON serializers write them. Without it the scanner reads every event. */
  readonly eventSkimmer: () => EventSkimmer | 'none'
  /**
   * Milliseconds for which the writer thread blocks until the next request before it returns to its event loop, from
   * which waking up takes longer. 0: it returns at once.
   */
  readonly writerBlocksMs: number
}

const fast: FastPaths = { eventSkimmer, writerBlocksMs: 5 }
const plain: FastPaths = { eventSkimmer: () => 'none', writerBlocksMs: 0 }

/** `SHOAL_FAST_PATHS=off` selects the plain alternatives, for tests, measurements and diagnosis. */
export const fastPaths: FastPaths = process.env['SHOAL_FAST_PATHS'] === 'off' ? plain : fast
