/**
 * What evaluating came to instead of a value. It is thrown, and often: hence no `Error`, which would take down where it
 * was made each time.
 */
export class Failure {
  readonly message: string
  /** Ends the query instead of taking the place of one result. */
  readonly fatal: boolean

  constructor(message: string, fatal = false) {
    this.message = message
    this.fatal = fatal
  }
}

/** The failure that was thrown; anything else is a defect of ours and goes on up. */
export function caught(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  throw thrown
}
