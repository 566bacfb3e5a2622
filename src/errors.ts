/**
 * The one table of error codes: what the code means, the HTTP status it has where it goes out over HTTP, and the text.
 * `<name>` in a text is filled in by the place that raises the error. docs/errors.md is made from this table.
 */
export const errorTable = {
  ERR_BAD_REQUEST: { status: 400, text: 'Invalid request. <cause>', when: 'a request that cannot be understood' },
  ERR_NOT_FOUND: {
    status: 404,
    text: 'The requested resource could not be found.',
    when: 'a path that does not exist',
  },
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    text: 'Method not supported.',
    when: 'a path that exists, with another method',
  },
  ERR_PAYLOAD_TOO_LARGE: {
    status: 413,
    text: 'Payload too large (<size> > <limit>).',
    when: 'more bytes than a limit allows',
  },
  ERR_UNSUPPORTED_FEATURE: {
    status: 418,
    text: 'Feature `<feature>` is not supported on endpoint `<endpoint>`.',
    when: 'a part of the query language that this endpoint does not have',
  },
  ERR_INTERNAL: { status: 500, text: 'Internal server error.', when: 'a defect of shoal; the log says more' },
  ERR_INTERNAL_ERROR: {
    status: 500,
    text: '<cause> This is a defect of shoal, please report it.',
    when: 'a defect of shoal, in a command',
  },
  ERR_INVALID_INPUT: { status: 400, text: '<cause>', when: 'an argument that cannot be parsed or makes no sense' },
  ERR_IO: { status: 500, text: '<cause>', when: 'a file, a folder or the network refused; a data folder in use' },
  ERR_INVALID_NODE_STATE: {
    status: 500,
    text: '<cause>',
    when: 'a data folder that this version cannot use: damaged, made by a later version, or of another product',
  },
  ERR_STORAGE: {
    status: 503,
    text: 'This could not be stored: <cause>.',
    when: 'the disk is full or fails; nothing of the request was stored, reading goes on',
  },
  ERR_PORT_COLLISION: {
    status: 500,
    text: '<component> cannot listen on <address>: port <port> is in use by another process. Choose another one with <option>.',
    when: 'a port that another process has',
  },
  ERR_SETTINGS_INVALID: { status: 422, text: '<cause>', when: 'settings that break a rule; nothing was changed' },
  ERR_SETTINGS_NOT_FOUND_AT_SCOPE: {
    status: 404,
    text: "No settings found at scope '<scope>'.",
    when: 'a scope with nothing in it, defaults included',
  },
  ERR_SETTINGS_REVISION_UNKNOWN: {
    status: 404,
    text: 'There is no revision <revision> of the settings.',
    when: 'a rollback to a revision that was never stored',
  },
} as const satisfies Record<string, { status: number; text: string; when: string }>

export type ErrorCode = keyof typeof errorTable

/** The names in angle brackets of a text, so that none is forgotten at the place that raises the error. */
type Placeholders<Text extends string> = Text extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Placeholders<Rest>
  : never
export type ErrorDetails<Code extends ErrorCode> = Record<
  Placeholders<(typeof errorTable)[Code]['text']>,
  string | number
>

/** An error that is meant for whoever caused it: it has a code and a text that says what to do. */
export class ShoalError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ShoalError'
    this.code = code
  }

  get status(): number {
    return errorTable[this.code].status
  }

  /** The error object of the specification. */
  toJSON(): { code: ErrorCode; message: string } {
    return { code: this.code, message: this.message }
  }
}

/** An error with the text of the table. */
export function failure<Code extends ErrorCode>(
  code: Code,
  details: ErrorDetails<Code>,
  options?: ErrorOptions,
): ShoalError {
  const values = details as Record<string, string | number>
  const message = errorTable[code].text.replace(/<(\w+)>/g, (whole, name: string) => String(values[name] ?? whole))
  return new ShoalError(code, message, options)
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The code of an error of the operating system (`EADDRINUSE`, `ENOENT`, …). */
export function systemCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
