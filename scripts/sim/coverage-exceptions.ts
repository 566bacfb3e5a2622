/** A branch of the rules that seeds need not reach. */
export interface CoverageException {
  readonly file: string
  /** How its source begins; without it the whole file. */
  readonly text?: string
  readonly reason: string
}

export const coverageExceptions: readonly CoverageException[] = []
