import { ShoalError } from '../errors.ts'

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
    super(
      'ERR_SETTINGS_INVALID',
      `Validation failed.\n\tErrors:\n${problems.map((problem) => `\t\t${line(problem)}`).join('\n')}`,
    )
    this.problems = problems
  }
}

function line({ path, title, detail }: Problem): string {
  return `${path === '' ? '/' : path}: ${title}.${detail === undefined ? '' : ` (${detail}.)`}`
}
