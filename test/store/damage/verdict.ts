import { ShoalError } from '../../../src/base/errors.ts'
import { DamagedData } from '../../../src/store/sqlite/index.ts'

/**
 * The outcome of damage: no effect, the store was refused, a stream of another node was cut back and the rest is correct,
 * a query reported it, or a result was wrong.
 */
export type Outcome = 'harmless' | 'refused' | 'cut' | 'detected' | 'wrong'

export interface Verdict {
  readonly outcome: Outcome
  /** The reported error, or the difference. */
  readonly why: string
}

/** Whether an error reports damaged data; any other error would look like a defect. */
export function reportsDamage(error: unknown): boolean {
  if (error instanceof DamagedData || error instanceof ShoalError) return true
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

export function reported(outcome: Outcome, error: unknown): Verdict {
  return { outcome, why: nameOf(error) }
}

export function wrong(query: string, what: string): Verdict {
  return { outcome: 'wrong', why: `${query}: ${what}` }
}

export function nameOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
