import { type ErrorCode, ShoalError } from '../base/errors.ts'
import { unstorable } from './json.ts'

/** A validation error. */
export interface Problem {
  /** JSON pointer of the value. */
  readonly path: string
  readonly title: string
  readonly detail?: string
}

/** Maximum number of validation errors in a message. */
const linesShown = 100

/** Settings that failed validation, with all validation errors: path, rule, and what is allowed. */
export class InvalidSettings extends ShoalError {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super('ERR_SETTINGS_INVALID', `Validation failed.\n\tErrors:\n${text(problems)}`)
    this.problems = problems
  }

  /** The error object, with the validation errors as a list for programs. */
  override toJSON(): { code: ErrorCode; message: string; errors: readonly Problem[] } {
    return { ...super.toJSON(), errors: this.problems.slice(0, linesShown) }
  }
}

/** Throws for a value that is not JSON or nested too deeply, before it is traversed. */
export function refuseUnstorable(value: unknown, path: string): void {
  const reason = unstorable(value)
  if (reason === undefined) return
  throw new InvalidSettings([{ path, title: 'Type of the value is wrong', detail: `Not a JSON document: ${reason}` }])
}

function text(problems: readonly Problem[]): string {
  const lines = problems.slice(0, linesShown).map((problem) => `\t\t${line(problem)}`)
  if (problems.length > linesShown) lines.push(`\t\t… and ${problems.length - linesShown} more`)
  return lines.join('\n')
}

function line({ path, title, detail }: Problem): string {
  return `${path === '' ? '/' : path}: ${title}.${detail === undefined ? '' : ` (${detail}.)`}`
}
