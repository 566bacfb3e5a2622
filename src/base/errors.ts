/**
 * The one table of error codes: what the code means, the HTTP status it has where it goes out over HTTP, and the text.
 * `<name>` in a text is filled in by the place that raises the error. docs/errors.md is made from this table.
 */
export const errorTable = {
  ERR_BAD_REQUEST: { status: 400, text: 'Invalid request. <cause>', when: 'a request that cannot be understood' },
  ERR_MANIFEST_INVALID: {
    status: 400,
    text: 'Invalid manifest. <cause>',
    when: 'the signature of an app manifest that cannot be read or is not valid',
  },
  ERR_MISSING_AUTH_HEADER: {
    status: 401,
    text: '"Authorization" header is missing.',
    when: 'a request without a token',
  },
  ERR_MISSING_TOKEN_PARAM: {
    status: 401,
    text: '"token" parameter is missing.',
    when: 'a WebSocket without a token',
  },
  ERR_UNSUPPORTED_AUTH_TYPE: {
    status: 401,
    text: `Unsupported authentication type '<type>'. Only "Bearer" is supported.`,
    when: 'another kind of authorization than a bearer token',
  },
  ERR_TOKEN_INVALID: {
    status: 401,
    text: "Invalid token: '<token>'. <cause>. Please provide a valid bearer token.",
    when: 'a token that is none',
  },
  ERR_TOKEN_UNAUTHORIZED: {
    status: 401,
    text: 'Unauthorized token.',
    when: 'a token that this node has not signed',
  },
  ERR_TOKEN_EXPIRED: {
    status: 401,
    text: 'Expired token.',
    when: 'a token of more than a day ago, or from before the last start of the node: ask for a new one',
  },
  ERR_APP_UNAUTHORIZED: {
    status: 401,
    text: "App '<appId>' is not authorized: <reason>. Provide a valid app license in the node settings.",
    when: 'an app without a valid licence, on a node that has one',
  },
  ERR_NODE_UNAUTHORIZED: {
    status: 401,
    text: 'Node is not licensed: <reason>. Please correct this in the settings.',
    when: 'a node licence that is not valid',
  },
  ERR_HOST_NOT_ALLOWED: {
    status: 403,
    text: "Requests for the host '<host>' are not answered. `shoal run --api-host <name>` allows it.",
    when: 'a Host header with a name that is not known to mean this node: another website could be behind it',
  },
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
  ERR_RANGE_NOT_SATISFIABLE: {
    status: 416,
    text: 'The file has <size> bytes, none of which is in the range.',
    when: 'a Range header that asks for bytes after the end of a file',
  },
  ERR_UNSUPPORTED_FEATURE: {
    status: 418,
    text: 'Feature `<feature>` is not supported on endpoint `<endpoint>`.',
    when: 'a part of the query language that this endpoint does not have',
  },
  ERR_NOT_ACCEPTABLE: {
    status: 406,
    text: "Content with type '<accept>' was requested but the resource is only capable of generating content of the following type(s): */*, <type>.",
    when: 'an Accept header that excludes every answer',
  },
  ERR_UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    text: "The request's content-type is not supported.",
    when: 'a body of another type than the one that is understood',
  },
  ERR_SERVICE_OVERLOADED: {
    status: 503,
    text: 'Service overloaded. Channel towards event store is overloaded.',
    when: 'more waits for the store than a limit allows; nothing of the request was stored, try again',
  },
  ERR_SHUTTING_DOWN: {
    status: 503,
    text: 'Service shutting down. Event store was stopped while request was queued or running.',
    when: 'the node is stopping',
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
  ERR_DATA_DAMAGED: {
    status: 500,
    text: 'Stored data is damaged: <cause>. Stop the node and run `shoal store verify`.',
    when: 'stored bytes that are not as they were written: they are never served',
  },
  ERR_STORAGE: {
    status: 503,
    text: 'This could not be stored: <cause>.',
    when: 'the disk is full or fails; nothing of the request was stored, reading goes on',
  },
  ERR_STORAGE_READ: {
    status: 503,
    text: 'This could not be read: <cause>.',
    when: 'the disk fails',
  },
  ERR_CLOCK: {
    status: 503,
    text: 'The clock of this machine shows <time>, but times can only be stored from 1970 to 2255. Nothing was stored: set the clock, and try again.',
    when: 'the clock is so wrong that its time cannot be stored; reading goes on',
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

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const corrupt: ReadonlySet<number> = new Set([11, 26])

/** Whether SQLite says that a database is damaged. */
export function isCorrupt(thrown: unknown): boolean {
  return (
    thrown instanceof Error &&
    'errcode' in thrown &&
    typeof thrown.errcode === 'number' &&
    corrupt.has(thrown.errcode & 0xff)
  )
}

/** An error that says that stored data is damaged, as one for whoever asked for it; nothing for any other error. */
export function damageOf(thrown: unknown): ShoalError | undefined {
  if (!(thrown instanceof Error) || (thrown.name !== 'DamagedData' && !isCorrupt(thrown))) return undefined
  return failure('ERR_DATA_DAMAGED', { cause: thrown.message }, { cause: thrown.cause })
}
