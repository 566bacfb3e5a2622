import type { BystanderReport, Timing } from './bystander-report.ts'
import type { Tally } from './tally.ts'
import { type Findings, mb } from './verdict.ts'

/** The report lines of one attack. */
export function linesOf(tally: Tally, findings: Findings, charged: string, problems: readonly string[]): string[] {
  const { beforeMb, peakMb, afterMb, readyAfterMs, ending, bystander, loggedErrors } = findings
  const end = ending === undefined ? '' : `, then it ended: ${ending}`
  const ready = readyAfterMs === undefined ? 'not ready in time' : `ready after ${readyAfterMs.toFixed(0)} ms`
  return [
    `  sent       ${tally.sent}`,
    `  answered   ${tally.answers}`,
    `  memory     ${mb(beforeMb)} before, peak ${mb(peakMb)}, ${mb(afterMb)} after${charged}${end}`,
    ...(ending === undefined ? [`  node       ${ready}, ${loggedErrors} errors logged`] : []),
    ...(bystander === undefined ? [] : bystanderLines(bystander)),
    ...(problems.length === 0 ? ['  ✔ passed'] : problems.map((problem) => `  ✖ ${problem}`)),
  ]
}

function bystanderLines({ publish, query, emptyQuery, recovered, unrecovered, errors }: BystanderReport): string[] {
  const shown = errors.slice(0, 5).map((error) => `             ${error}`)
  return [
    `  bystander  publish ${timing(publish)}; query ${timing(query)}; empty query ${timing(emptyQuery)}`,
    `             ${recovered} × 503 mended by a retry, ${unrecovered} not, ${errors.length} other errors`,
    ...shown,
  ]
}

function timing({ count, p50, p99 }: Timing): string {
  if (count === 0) return 'none'
  return `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms (${count})`
}
