/**
 * An evaluation error. It is thrown often, so it is not an `Error`: capturing a stack trace each time would be slow.
 */
export class Failure {
  readonly message: string
  /** Whether it ends the query instead of replacing one result. */
  readonly fatal: boolean

  constructor(message: string, fatal = false) {
    this.message = message
    this.fatal = fatal
  }
}

/** Narrows a caught exception to a failure. Anything else is a bug and is rethrown. */
export function caught(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  throw thrown
}
