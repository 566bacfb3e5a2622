import { escapeControls } from '../../base/control-characters.ts'
import { damageOf, messageOf, ShoalError } from '../../base/errors.ts'

/** The result of a command: text, which may be empty, or one line of JSON with --json. */
export interface Result {
  readonly text: () => string | Promise<string>
  readonly json: unknown
  /** A remark for people, written to stderr. */
  readonly note?: string | undefined
  /** Whether the exit code is 1 although there is a result. */
  readonly failed?: boolean
}

/** The result of a command that streams lines of JSON, with and without --json. */
export interface Streamed {
  /** Writes the lines; resolves to false if the result is incomplete. Throws the error that ends it. */
  readonly stream: () => Promise<boolean>
}

export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

/** Runs a command, writes its result or error, and returns the exit code. */
export async function report(
  json: boolean,
  command: () => Promise<Result | Streamed>,
  /** What to type after an error. */
  next: (code: string, message: string) => string | undefined = () => undefined,
): Promise<number> {
  try {
    const result = await command()
    if ('stream' in result) return (await result.stream()) ? exitCodes.ok : exitCodes.failed
    const text = json ? resultJson(result.json) : await result.text()
    if (text !== '') await write(process.stdout, text)
    if (!json && result.note !== undefined) await write(process.stderr, result.note)
    return result.failed === true ? exitCodes.failed : exitCodes.ok
  } catch (thrown) {
    if (json) await write(process.stdout, errorJson(thrown))
    else {
      const error = asShoalError(thrown)
      const typed = next(error.code, withCauses(error))
      await write(process.stderr, `${errorText(error)}${typed === undefined ? '' : `\nNext: ${typed}`}`)
    }
    return exitCodes.failed
  }
}

export function resultJson(result: unknown): string {
  return JSON.stringify({ code: 'OK', result })
}

export function errorJson(thrown: unknown): string {
  const error = asShoalError(thrown)
  return JSON.stringify({ code: error.code, message: withCauses(error) })
}

function errorText(error: ShoalError): string {
  // The specification has a form of its own for this code, and a colon after the next two.
  if (error.code === 'ERR_AQL_ERROR') return `[AQL_ERROR]: ${withCauses(error)}`
  const colon = error.code === 'ERR_IO' || error.code === 'ERR_UNSUPPORTED' ? ':' : ''
  return `[${error.code}]${colon} Error: ${withCauses(error)}`
}

/** An unexpected error is a defect: it is reported with its stack trace. */
function asShoalError(thrown: unknown): ShoalError {
  if (thrown instanceof ShoalError) return thrown
  const damage = damageOf(thrown)
  if (damage !== undefined) return damage
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  return new ShoalError('ERR_INTERNAL_ERROR', `${stack}\nThis is a defect of shoal, please report it.`)
}

/** The message of an error, followed by its chain of causes, one per line. */
export function withCauses(error: Error): string {
  const causes: string[] = []
  for (let cause = error.cause; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined)
    causes.push(`    ${messageOf(cause)}`)
  return causes.length === 0 ? error.message : [error.message, 'Caused by:', ...causes].join('\n')
}

/** Writes lines of text or JSON. What nodes send is untrusted: control characters are escaped. */
export async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  const shown = escapeControls(text)
  await new Promise<void>((resolve) => stream.write(shown.endsWith('\n') ? shown : `${shown}\n`, () => resolve()))
}

/** Exits with 0 on EPIPE: `shoal … | head` closes the pipe early, which is not an error. */
export function exitOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok)
    throw error
  })
}
