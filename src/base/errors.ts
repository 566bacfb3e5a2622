import { isCorrupt } from './sqlite-codes.ts'

interface ErrorRow {
  readonly status: number
  readonly text: string
  readonly when: string
  /** Seconds after which the same request may succeed. */
  readonly retrySeconds?: number
  /** Whether the message quotes neither tokens nor contents of requests, so that the log may show it. */
  readonly isLoggable?: boolean
}

/**
 * The table of all error codes, with the HTTP status, the message template and the condition. The caller that raises
 * the error fills in each placeholder `<name>`. docs/errors.md is generated from this table.
 */
export const errorTable = {
  ERR_BAD_REQUEST: { status: 400, text: 'Invalid request. <cause>', when: 'a malformed request' },
  ERR_MANIFEST_INVALID: {
    status: 400,
    text: 'Invalid manifest. <cause>',
    when: 'an app manifest with a malformed or invalid signature',
    isLoggable: true,
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
    when: 'an authentication scheme other than a bearer token',
  },
  ERR_TOKEN_INVALID: {
    status: 401,
    text: "Invalid token: '<token>'. <cause>. Please provide a valid bearer token.",
    when: 'a malformed token',
  },
  ERR_TOKEN_UNAUTHORIZED: {
    status: 401,
    text: 'Unauthorized token.',
    when: 'a token that was not signed by this node',
  },
  ERR_TOKEN_EXPIRED: {
    status: 401,
    text: 'Expired token.',
    when: 'a token older than a day, or issued before the node was last started: request a new one',
  },
  ERR_APP_UNAUTHORIZED: {
    status: 401,
    text: "App '<appId>' is not authorized: <reason>. Provide a valid app license in the node settings.",
    when: 'an app without a valid licence, on a licensed node',
    isLoggable: true,
  },
  ERR_NODE_UNAUTHORIZED: {
    status: 401,
    text: 'Node is not licensed: <reason>. Please correct this in the settings.',
    when: 'an invalid node licence',
    isLoggable: true,
  },
  ERR_HOST_NOT_ALLOWED: {
    status: 403,
    text: "Requests for the host '<host>' are not answered. `shoal run --api-host <name>` allows it.",
    when: 'a Host header that is not a known name of this node: protects against DNS rebinding by other websites',
    isLoggable: true,
  },
  ERR_ORIGIN_NOT_ALLOWED: {
    status: 403,
    text: "Requests of the website '<origin>' are not answered.",
    when: 'a request of a website to the admin port',
    isLoggable: true,
  },
  ERR_USER_UNAUTHENTICATED: {
    status: 401,
    text: '<cause>',
    when: 'a request to the admin port without a session, or with one that has ended; a command without a user key',
    isLoggable: true,
  },
  ERR_UNAUTHORIZED: {
    status: 403,
    text: 'Provided key is not authorized to access the API.',
    when: 'a user key that is not in `/admin/authorizedUsers` of the node',
    isLoggable: true,
  },
  ERR_TOO_MANY_ATTEMPTS: {
    status: 429,
    text: 'Too many failed attempts to sign in. Try again later.',
    when: 'failed attempts to sign in to the admin port from one address, in a row',
    retrySeconds: 10,
  },
  ERR_NOT_FOUND: {
    status: 404,
    text: 'The requested resource could not be found.',
    when: 'an unknown path',
  },
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    text: 'Method not supported.',
    when: 'a known path with an unsupported method',
  },
  ERR_PAYLOAD_TOO_LARGE: {
    status: 413,
    text: 'Payload too large (<size> > <limit>).',
    when: 'a request body that exceeds a size limit',
    isLoggable: true,
  },
  ERR_RANGE_NOT_SATISFIABLE: {
    status: 416,
    text: 'The file has <size> bytes, none of which is in the range.',
    when: 'a Range header beyond the end of the file',
    isLoggable: true,
  },
  ERR_UNSUPPORTED_FEATURE: {
    status: 418,
    text: 'Feature `<feature>` is not supported on endpoint `<endpoint>`.',
    when: 'a feature of the query language that this endpoint does not support',
    isLoggable: true,
  },
  ERR_NOT_ACCEPTABLE: {
    status: 406,
    text: "Content with type '<accept>' was requested but the resource is only capable of generating content of the following type(s): */*, <type>.",
    when: 'an Accept header that excludes every available content type',
  },
  ERR_UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    text: "The request's content-type is not supported.",
    when: 'a request body with an unsupported content type',
  },
  ERR_SERVICE_OVERLOADED: {
    status: 503,
    text: 'Service overloaded. Channel towards event store is overloaded.',
    when: 'a limit of queues, concurrent requests or client memory is reached; nothing was stored, retry',
    isLoggable: true,
  },
  ERR_SHUTTING_DOWN: {
    status: 503,
    text: 'Service shutting down. Event store was stopped while request was queued or running.',
    when: 'a request while the node shuts down or changes to another topic',
    retrySeconds: 1,
  },
  ERR_TOPIC_UNAVAILABLE: {
    status: 503,
    text: "The topic '<topic>' is not open: <cause>. Nothing was stored: try again.",
    when: 'a request while the node changes to another topic, or while that topic cannot be opened; `/readyz` says more',
    retrySeconds: 1,
    isLoggable: true,
  },
  ERR_INTERNAL: { status: 500, text: 'Internal server error.', when: 'a defect of shoal; the log says more' },
  ERR_INTERNAL_ERROR: {
    status: 500,
    text: '<cause> This is a defect of shoal, please report it.',
    when: 'a defect of shoal, in a command',
  },
  ERR_INVALID_INPUT: { status: 400, text: '<cause>', when: 'an invalid argument' },
  ERR_AQL_ERROR: {
    status: 400,
    text: '<cause>',
    when: 'a query that fails while it runs, in a command; over HTTP that is `ERR_BAD_REQUEST`',
  },
  ERR_IO: { status: 500, text: '<cause>', when: 'an I/O error of a file, folder or the network; a data folder in use' },
  ERR_UNSUPPORTED: {
    status: 501,
    text: '<cause>',
    when: 'a command that the node does not support, since it is of another version; options that exclude each other',
  },
  ERR_FILE_EXISTS: { status: 409, text: '<cause>', when: 'a key file that exists already; it is not overwritten' },
  ERR_PATH_INVALID: { status: 400, text: '<cause>', when: 'a key file or a data folder that does not exist' },
  ERR_INVALID_NODE_STATE: {
    status: 500,
    text: '<cause>',
    when: 'an unusable data folder: damaged, written by a later version, or of another product',
  },
  ERR_DATA_DAMAGED: {
    status: 500,
    text: 'Stored data is damaged: <cause>. Stop the node and run `shoal store verify`.',
    when: 'corrupt stored data: it is never served',
    isLoggable: true,
  },
  ERR_STORAGE: {
    status: 503,
    text: 'This could not be stored: <cause>.',
    when: 'the disk is full or fails; nothing was stored, except after an I/O error during the commit, when the request may still be on disk; reads still work',
    isLoggable: true,
  },
  ERR_STREAM_FORKED: {
    status: 500,
    text: 'The stream <stream> of this node is frozen: there are two different histories of it, both signed by this node. Nothing was stored.',
    when: 'a publish to a stream of which the node has written two histories, for example after its data folder was restored from a backup or copied',
    isLoggable: true,
  },
  ERR_OWN_STREAMS_UNCERTAIN: {
    status: 503,
    text: 'This cannot be stored yet: <cause>. Nothing was stored: try again.',
    when: 'a publish after a start at which other nodes may have more events of this node: after a crash, a restored backup or a copied data folder; reads still work',
    isLoggable: true,
  },
  ERR_STORAGE_READ: {
    status: 503,
    text: 'This could not be read: <cause>.',
    when: 'a read error of the disk',
    isLoggable: true,
  },
  ERR_CLOCK: {
    status: 503,
    text: 'The clock of this machine shows <time>, but times can only be stored from 1970 to 2255. Nothing was stored: set the clock, and try again.',
    when: 'a wall clock outside the storable range; reads still work',
    isLoggable: true,
  },
  ERR_NODE_UNREACHABLE: {
    status: 503,
    text: 'unable to reach node, additional message: <cause>',
    when: 'a command to a running node that does not answer, or stops before it has answered',
  },
  ERR_PORT_COLLISION: {
    status: 500,
    text: '<component> cannot listen on <address>: port <port> is in use by another process. Choose another one with <option>.',
    when: 'a port that is in use by another process',
  },
  ERR_SETTINGS_INVALID: { status: 422, text: '<cause>', when: 'settings that fail validation; nothing was changed' },
  ERR_SETTINGS_NOT_FOUND_AT_SCOPE: {
    status: 404,
    text: "No settings found at scope '<scope>'.",
    when: 'a scope without a value, not even a default',
  },
  ERR_SETTINGS_CONFLICT: {
    status: 409,
    text: 'The settings were changed meanwhile: the change was made for revision <expected>, and revision <revision> is in force. Nothing was changed. Read them again, and repeat the change.',
    when: 'a change of settings with an If-Match header, or --if-revision, that names another revision than the one in force',
  },
  ERR_SETTINGS_REVISION_UNKNOWN: {
    status: 404,
    text: 'There is no revision <revision> of the settings.',
    when: 'a rollback to an unknown revision',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errorTable

/** The placeholders of a message template: the compiler checks that the caller fills in each of them. */
type Placeholders<Text extends string> = Text extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Placeholders<Rest>
  : never
export type ErrorDetails<Code extends ErrorCode> = Record<
  Placeholders<(typeof errorTable)[Code]['text']>,
  string | number
>

/** An error for the user or client that caused it: it has a code and a message that says what to do. */
export class ShoalError extends Error {
  readonly code: ErrorCode
  readonly #isLoggable: boolean

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { isLoggable?: boolean }) {
    super(message, options)
    this.name = 'ShoalError'
    this.code = code
    const row: ErrorRow = errorTable[code]
    this.#isLoggable = options?.isLoggable ?? row.isLoggable ?? false
  }

  /** Whether the message quotes neither tokens nor contents of requests, so that the log may show it. */
  get isLoggable(): boolean {
    return this.#isLoggable
  }

  get status(): number {
    return errorTable[this.code].status
  }

  /** Seconds after which the same request may succeed; undefined when that is not known. */
  get retrySeconds(): number | undefined {
    const row: ErrorRow = errorTable[this.code]
    return row.retrySeconds
  }

  /** The error object of the specification. */
  toJSON(): { code: ErrorCode; message: string } {
    return { code: this.code, message: this.message }
  }
}

/** Makes an error with the message template of the table. */
export function failure<Code extends ErrorCode>(
  code: Code,
  details: ErrorDetails<Code>,
  options?: ErrorOptions,
): ShoalError {
  const values = details as Record<string, string | number>
  const message = errorTable[code].text.replace(/<(\w+)>/g, (whole, name: string) => String(values[name] ?? whole))
  return new ShoalError(code, message, options)
}

/** An invalid request. The cause has nothing of its contents: the log shows it. */
export function invalidRequest(cause: string): ShoalError {
  const { message } = failure('ERR_BAD_REQUEST', { cause })
  return new ShoalError('ERR_BAD_REQUEST', message, { isLoggable: true })
}

/** The message of a thrown value, which need not be an `Error`. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The code of a system error (`EADDRINUSE`, `ENOENT`, …). */
export function systemCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** Converts an error about corrupt data to `ERR_DATA_DAMAGED` for the client; undefined for any other error. */
export function damageOf(thrown: unknown): ShoalError | undefined {
  if (!(thrown instanceof Error) || (thrown.name !== 'DamagedData' && !isCorrupt(thrown))) return undefined
  return failure('ERR_DATA_DAMAGED', { cause: thrown.message }, { cause: thrown.cause })
}
