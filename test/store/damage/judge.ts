import { isCut, judgeCut } from './judge-cut.ts'
import { type ExpectedResults, type Result, type Results, reportOfStart } from './queries.ts'
import { nameOf, reported, reportsDamage, type Verdict, wrong } from './verdict.ts'

/** Compares the results of a damaged store with the expected ones. */
export function judge(expected: ExpectedResults, found: Results): Verdict {
  const opening = found.get('open')?.error
  if (opening !== undefined)
    return reportsDamage(opening) ? reported('refused', opening) : wrong('open', nameOf(opening))
  if (isCut(found)) return judgeCut(expected.results, found)
  let verdict: Verdict = { outcome: 'harmless', why: '' }
  for (const query of expected.results.keys()) {
    // The count file is that of another copy.
    if (query === reportOfStart) continue
    const result = found.get(query)
    if (result === undefined) return wrong(query, 'no result')
    const next = judgeResult(query, acceptable(expected, query, found), result)
    if (next.outcome === 'wrong') return next
    if (next.outcome === 'detected') verdict = next
  }
  return verdict
}

/** The acceptable results of a query. */
function acceptable(expected: ExpectedResults, query: string, found: Results): readonly Buffer[] {
  if (query === 'receive') return expected.received
  const all = expected.results.get(query)?.bytes ?? Buffer.alloc(0)
  if (query !== 'everything, after that') return [all]
  const result = found.get(query)?.bytes ?? Buffer.alloc(0)
  // Refused events are missing; all others are there.
  const refused = ['append', 'receive'].some((before) => found.get(before)?.error !== undefined)
  return refused && isPartOf(result, all) ? [result] : expected.afterwards
}

export function judgeResult(query: string, expected: readonly Buffer[], { bytes, error }: Result): Verdict {
  const [best = Buffer.alloc(0)] = expected
  if (error === undefined) {
    if (expected.some((one) => one.equals(bytes))) return { outcome: 'harmless', why: '' }
    return wrong(query, difference(best, bytes))
  }
  if (!reportsDamage(error)) return wrong(query, nameOf(error))
  // The consumer has used the result before the error, so that part has to be correct.
  if (expected.some((one) => one.subarray(0, bytes.length).equals(bytes))) return reported('detected', error)
  return wrong(query, `before the error, ${difference(best, bytes)}`)
}

/** Whether all lines are contained in another text, in the same order. */
function isPartOf(part: Buffer, whole: Buffer): boolean {
  const lines = part.toString('latin1').split('\n')
  let at = 0
  for (const line of whole.toString('latin1').split('\n')) if (line === lines[at]) at++
  return at === lines.length
}

function difference(expected: Buffer, found: Buffer): string {
  let at = 0
  while (at < expected.length && expected[at] === found[at]) at++
  const excerpt = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1', Math.max(0, at - 20), at + 60))
  return `differs at byte ${at} of ${expected.length} (${found.length} came): ${excerpt(expected)} became ${excerpt(found)}`
}
