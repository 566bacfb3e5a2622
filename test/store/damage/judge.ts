import { ShoalError } from '../../../src/base/errors.ts'
import { MalformedBytes } from '../../../src/protocol/index.ts'
import { DamagedData } from '../../../src/store/sqlite/index.ts'
import type { Answer, Answers, RightAnswers } from './questions.ts'

/** What became of damage: nothing was wrong, the store was not opened, a question was not answered, or an answer was wrong. */
export type Outcome = 'harmless' | 'refused' | 'detected' | 'wrong'

export interface Verdict {
  readonly outcome: Outcome
  /** What was told, or what was wrong. */
  readonly why: string
}

/** Compares the answers of a damaged store with the right ones. */
export function judge(right: RightAnswers, found: Answers): Verdict {
  const opening = found.get('open')?.error
  if (opening !== undefined) return tellsDamage(opening) ? told('refused', opening) : wrong('open', nameOf(opening))
  let verdict: Verdict = { outcome: 'harmless', why: '' }
  for (const question of right.answers.keys()) {
    const answer = found.get(question)
    if (answer === undefined) return wrong(question, 'no answer')
    const next = judgeAnswer(question, acceptable(right, question, found), answer)
    if (next.outcome === 'wrong') return next
    if (next.outcome === 'detected') verdict = next
  }
  return verdict
}

/** The answers to a question of which one has to come. */
function acceptable(right: RightAnswers, question: string, found: Answers): readonly Buffer[] {
  if (question === 'receive') return right.received
  const all = right.answers.get(question)?.bytes ?? Buffer.alloc(0)
  if (question !== 'everything, after that') return [all]
  const answer = found.get(question)?.bytes ?? Buffer.alloc(0)
  // What was refused is not there; all the rest is.
  const refused = ['append', 'receive'].some((before) => found.get(before)?.error !== undefined)
  return refused && isPartOf(answer, all) ? [answer] : right.afterwards
}

export function judgeAnswer(question: string, right: readonly Buffer[], { bytes, error }: Answer): Verdict {
  const [best = Buffer.alloc(0)] = right
  if (error === undefined) {
    if (right.some((one) => one.equals(bytes))) return { outcome: 'harmless', why: '' }
    return wrong(question, difference(best, bytes))
  }
  if (!tellsDamage(error)) return wrong(question, nameOf(error))
  // Whoever asked has used what came before the error.
  if (right.some((one) => one.subarray(0, bytes.length).equals(bytes))) return told('detected', error)
  return wrong(question, `before the error, ${difference(best, bytes)}`)
}

/** Whether all lines are among those of another text, in the same order. */
function isPartOf(part: Buffer, whole: Buffer): boolean {
  const lines = part.toString('latin1').split('\n')
  let at = 0
  for (const line of whole.toString('latin1').split('\n')) if (line === lines[at]) at++
  return at === lines.length
}

/** Whether an error says that what is stored is not as it was written; any other one would be taken for a defect. */
export function tellsDamage(error: unknown): boolean {
  if (error instanceof DamagedData || error instanceof MalformedBytes || error instanceof ShoalError) return true
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

function told(outcome: Outcome, error: unknown): Verdict {
  return { outcome, why: nameOf(error) }
}

function wrong(question: string, what: string): Verdict {
  return { outcome: 'wrong', why: `${question}: ${what}` }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

function difference(right: Buffer, found: Buffer): string {
  let at = 0
  while (at < right.length && right[at] === found[at]) at++
  const excerpt = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1', Math.max(0, at - 20), at + 60))
  return `differs at byte ${at} of ${right.length} (${found.length} came): ${excerpt(right)} became ${excerpt(found)}`
}
