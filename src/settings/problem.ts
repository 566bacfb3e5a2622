import { ShoalError } from '../base/errors.ts'
import { unstorable } from './json.ts'

/** One rule that a settings document breaks. */
export interface Problem {
  /** JSON pointer of the value. */
  readonly path: string
  readonly title: string
  readonly detail?: string
}

/** Settings that were refused: every rule they break, with its place and what is allowed. */
export class InvalidSettings extends ShoalError {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super('ERR_SETTINGS_INVALID', `Validation failed.\n\tErrors:\n${text(problems)}`)
    this.problems = problems
  }
}

/** Refuses what cannot even be walked through or written down, before anything else looks at it. */
export function refuseUnstorable(value: unknown, path: string): void {
  const reason = unstorable(value)
  if (reason === undefined) return
  throw new InvalidSettings([{ path, title: 'Type of the value is wrong', detail: `Not a JSON document: ${reason}` }])
}

/** Nobody reads a thousand lines of it. */
const linesShown = 100

function text(problems: readonly Problem[]): string {
  const lines = problems.slice(0, linesShown).map((problem) => `\t\t${line(problem)}`)
  if (problems.length > linesShown) lines.push(`\t\t… and ${problems.length - linesShown} more`)
  return lines.join('\n')
}

function line({ path, title, detail }: Problem): string {
  return `${path === '' ? '/' : path}: ${title}.${detail === undefined ? '' : ` (${detail}.)`}`
}
