import type { BystanderReport } from './bystander-report.ts'

/** Megabytes that the process may take in addition to the account of client memory. */
export const allowanceMb = 350
/** Seconds after the attack within which the node has to be ready. */
export const readyMs = 5000

/** The bounds that apply to an attack. */
export interface Bars {
  /** Limit of the account of client memory in megabytes. */
  readonly accountMb: number
  /** Bound for the median latency of an empty query in milliseconds; undefined if this attack does not test it. */
  readonly emptyQueryMs: number | undefined
  /**
   * Whether the node has little memory or few file descriptors. Then it may refuse the bystander during the attack, and
   * its memory is bounded by the option that was given.
   */
  readonly isConfined: boolean
}

/** The observations of one attack. */
export interface Findings {
  /** How the process ended; undefined if it did not. */
  readonly ending: string | undefined
  /** Whether it was killed to protect the machine. */
  readonly isKilled: boolean
  readonly beforeMb: number
  readonly peakMb: number
  readonly afterMb: number
  /** Milliseconds until the node was ready; undefined after a timeout. */
  readonly readyAfterMs: number | undefined
  /** Undefined if the bystander could not start or did not finish. */
  readonly bystander: BystanderReport | undefined
  /** Violations that the attacker has observed. */
  readonly broken: readonly string[]
  /** Log lines of level ERROR. */
  readonly loggedErrors: number
}

/** The problems; empty if the node has passed. */
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
  const { errors, unrecovered, subscriptionProblem, afterwardsProblem, emptyQuery } = bystander
  const problems: string[] = []
  if (errors.length > 0) problems.push(`the bystander got ${errors.length} errors, the first: ${errors[0]}`)
  if (unrecovered > 0 && !isConfined) problems.push(`no retry within 5 s mended the 503 of ${unrecovered} requests`)
  if (subscriptionProblem !== undefined) problems.push(`the bystander's subscription: ${subscriptionProblem}`)
  if (afterwardsProblem !== undefined) problems.push(`the bystander afterwards: ${afterwardsProblem}`)
  if (!isConfined && emptyQueryMs !== undefined && !(emptyQuery.p50 <= emptyQueryMs))
    problems.push(`an empty query took ${emptyQuery.p50.toFixed(0)} ms at the median, more than ${emptyQueryMs} ms`)
  return problems
}

export function mb(megabytes: number): string {
  return `${megabytes.toFixed(0)} MB`
}
