import { messageOf } from '../../src/base/errors.ts'
import { DataFolder, verifyFolder } from '../../src/store/index.ts'
import { tellsDamage } from '../../test/store/damage/judge.ts'
import { type Started, startOn } from './start.ts'

/**
 * What came of damage: the start or an answer was refused, or the start reported it; only `verify` found it; nothing is
 * wrong; or an answer was wrong or an error did not say that something is damaged.
 */
export type Outcome = 'noticed at start' | 'found by verify' | 'harmless' | 'wrong'

export interface Verdict {
  readonly outcome: Outcome
  readonly why: string
}

/** Verifies a damaged data folder, starts on it, and compares its answers with the right ones. */
export async function judgeFolder(path: string, right: Started): Promise<Verdict> {
  const problems = verified(path)
  if ('wrong' in problems) return { outcome: 'wrong', why: `verify: ${problems.wrong}` }
  const started = await startOn(path)
  const noticed: string[] = []
  for (const [question, answer] of started.answers) {
    const [part = ''] = question.split(':')
    const reports = started.damage.get(part) ?? []
    if ('error' in answer) {
      // What is lost with a damaged write-ahead log is missing where that was reported.
      if (!tellsDamage(answer.error) && reports.length === 0)
        return { outcome: 'wrong', why: `${question}: ${describe(answer.error)}` }
      noticed.push(`${question}: ${messageOf(answer.error)}`)
      continue
    }
    const expected = right.answers.get(question)
    if (expected !== undefined && 'value' in expected && expected.value === answer.value) continue
    if (reports.length === 0) return { outcome: 'wrong', why: `${question}: another answer, and nobody was told` }
  }
  for (const [part, reports] of started.damage) for (const { text } of reports) noticed.push(`${part}: ${text}`)
  const missing = [...right.answers.keys()].filter((question) => !isAnswered(question, started))
  if (missing.length > 0) return { outcome: 'wrong', why: `no answer to ${missing.join(', ')}` }
  if (noticed.length > 0) return { outcome: 'noticed at start', why: noticed.join('; ') }
  if (problems.found.length > 0) return { outcome: 'found by verify', why: problems.found.join('; ') }
  return { outcome: 'harmless', why: '' }
}

/** A question to a part that was refused is not asked. */
function isAnswered(question: string, { answers }: Started): boolean {
  const [part = ''] = question.split(':')
  return [question, part, 'node'].some((name) => {
    const answer = answers.get(name)
    return answer !== undefined && (name === question || 'error' in answer)
  })
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** What `shoal store verify` says; its errors are for whoever called it. */
function verified(path: string): { readonly found: readonly string[] } | { readonly wrong: string } {
  try {
    const folder = DataFolder.open(path, { create: false })
    try {
      return { found: verifyFolder(folder.path).problems }
    } finally {
      folder.close()
    }
  } catch (error) {
    return tellsDamage(error) ? { found: [messageOf(error)] } : { wrong: describe(error) }
  }
}
