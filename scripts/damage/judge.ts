import { messageOf } from '../../src/base/errors.ts'
import { DataFolder, verifyFolder } from '../../src/store/index.ts'
import { reportsDamage } from '../../test/store/damage/verdict.ts'
import { type Started, startOn } from './start.ts'

/**
 * The outcome of damage: the start or a read failed, or the start reported it; only `verify` found it; no effect; or a
 * failed test: a wrong result, or an error that does not report damage.
 */
export type Outcome = 'noticed at start' | 'found by verify' | 'harmless' | 'wrong'

export interface Verdict {
  readonly outcome: Outcome
  readonly why: string
}

/** Verifies a damaged data folder, starts on it, and compares its results with the expected ones. */
export async function judgeFolder(path: string, expected: Started): Promise<Verdict> {
  const problems = verified(path)
  if ('wrong' in problems) return { outcome: 'wrong', why: `verify: ${problems.wrong}` }
  const started = await startOn(path)
  const noticed: string[] = []
  for (const [query, result] of started.results) {
    const [part = ''] = query.split(':')
    const reports = started.damage.get(part) ?? []
    if ('error' in result) {
      // Results may be missing if the loss of a damaged write-ahead log was reported.
      if (!reportsDamage(result.error) && reports.length === 0)
        return { outcome: 'wrong', why: `${query}: ${describe(result.error)}` }
      noticed.push(`${query}: ${messageOf(result.error)}`)
      continue
    }
    const wanted = expected.results.get(query)
    if (wanted !== undefined && 'value' in wanted && wanted.value === result.value) continue
    if (reports.length === 0)
      return { outcome: 'wrong', why: `${query}: a different result, and no damage was reported` }
  }
  for (const [part, reports] of started.damage) for (const { text } of reports) noticed.push(`${part}: ${text}`)
  const missing = [...expected.results.keys()].filter((query) => !hasResult(query, started))
  if (missing.length > 0) return { outcome: 'wrong', why: `no result of ${missing.join(', ')}` }
  if (noticed.length > 0) return { outcome: 'noticed at start', why: noticed.join('; ') }
  if (problems.found.length > 0) return { outcome: 'found by verify', why: problems.found.join('; ') }
  return { outcome: 'harmless', why: '' }
}

/** Results of a component that refused to open are not compared. */
function hasResult(query: string, { results }: Started): boolean {
  const [part = ''] = query.split(':')
  return [query, part, 'node'].some((name) => {
    const result = results.get(name)
    return result !== undefined && (name === query || 'error' in result)
  })
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The result of `shoal store verify`. An error that reports damage counts as found. */
function verified(path: string): { readonly found: readonly string[] } | { readonly wrong: string } {
  try {
    const folder = DataFolder.open(path, { create: false })
    try {
      return { found: verifyFolder(folder.path).problems }
    } finally {
      folder.close()
    }
  } catch (error) {
    return reportsDamage(error) ? { found: [messageOf(error)] } : { wrong: describe(error) }
  }
}
