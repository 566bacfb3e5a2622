import type { BystanderReport } from './bystander-report.ts'

/** Megabytes that the process may take beyond the account of what clients make it hold. */
export const allowanceMb = 350
/** Seconds after the end within which the node has to be ready. */
export const readyMs = 5000

/** What is allowed. */
export interface Bars {
  /** Megabytes of the account of memory. */
  readonly accountMb: number
  /** Milliseconds of an empty query at the median; undefined when this attack is not about that. */
  readonly emptyQueryMs: number | undefined
  /**
   * Whether the node was given little memory or few files. Then it may refuse a bystander for as long as the attack lasts, and
   * how much memory it may take is decided by whoever has given it.
   */
  readonly isConfined: boolean
}

/** What was seen of one attack. */
export interface Findings {
  /** How the process ended; undefined when it did not. */
  readonly ending: string | undefined
  /** Whether it was ended for the sake of the machine. */
  readonly isKilled: boolean
  readonly beforeMb: number
  readonly peakMb: number
  readonly afterMb: number
  /** Milliseconds until the node was ready; undefined when it was not in time. */
  readonly readyAfterMs: number | undefined
  /** Nothing when there is none: it could not begin or did not end. */
  readonly bystander: BystanderReport | undefined
  /** Promises of the node that the attacker saw broken. */
  readonly broken: readonly string[]
  /** Lines of level ERROR in the log of the node. */
  readonly loggedErrors: number
}

/** What is wrong; nothing when the node has passed. */
export function judge(findings: Findings, bars: Bars): string[] {
  const { ending, isKilled, peakMb, afterMb, readyAfterMs, bystander, broken } = findings
  const limit = bars.isConfined ? Number.POSITIVE_INFINITY : bars.accountMb + allowanceMb
  const problems = [...broken]
  if (isKilled) problems.push('the process took so much memory that it was killed')
  else if (ending !== undefined) problems.push(`the process ended: ${ending}`)
  if (peakMb > limit) problems.push(`the peak of ${mb(peakMb)} is above ${mb(limit)}`)
  if (ending !== undefined) return problems
  if (afterMb > limit) problems.push(`${mb(afterMb)} are left afterwards, more than ${mb(limit)}`)
  if (readyAfterMs === undefined) problems.push(`the node was not ready within ${readyMs / 1000} s of the end`)
  if (bystander === undefined) problems.push('the bystander did not come to an end')
  else problems.push(...bystanderProblems(bystander, bars))
  return problems
}

function bystanderProblems(bystander: BystanderReport, { emptyQueryMs, isConfined }: Bars): string[] {
  const { errors, unmended, subscriptionProblem, afterwardsProblem, emptyQuery } = bystander
  const problems: string[] = []
  if (errors.length > 0) problems.push(`the bystander got ${errors.length} errors, the first: ${errors[0]}`)
  if (unmended > 0 && !isConfined) problems.push(`no retry within 5 s mended the 503 of ${unmended} requests`)
  if (subscriptionProblem !== undefined) problems.push(`the bystander's subscription: ${subscriptionProblem}`)
  if (afterwardsProblem !== undefined) problems.push(`the bystander afterwards: ${afterwardsProblem}`)
  if (!isConfined && emptyQueryMs !== undefined && !(emptyQuery.p50 <= emptyQueryMs))
    problems.push(`an empty query took ${emptyQuery.p50.toFixed(0)} ms at the median, more than ${emptyQueryMs} ms`)
  return problems
}

export function mb(megabytes: number): string {
  return `${megabytes.toFixed(0)} MB`
}
