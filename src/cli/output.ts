import { damageOf, messageOf, ShoalError } from '../base/errors.ts'

/** What a command says at its end: for people as text, which may be nothing, for programs as one line of JSON. */
export interface Result {
  readonly text: () => string | Promise<string>
  readonly json: unknown
}

/** What a command says while it runs, as lines of JSON for people and programs alike. */
export interface Streamed {
  /** Writes it, and tells whether all went well; if not, the last line said why. */
  readonly stream: () => Promise<boolean>
}

export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

/** Runs a command and writes its result or its error as the output contract says; the answer is the exit code. */
export async function report(json: boolean, command: () => Promise<Result | Streamed>): Promise<number> {
  try {
    const result = await command()
    if ('stream' in result) return (await result.stream()) ? exitCodes.ok : exitCodes.failed
    const text = json ? resultJson(result.json) : await result.text()
    if (text !== '') await write(process.stdout, text)
    return exitCodes.ok
  } catch (thrown) {
    if (json) await write(process.stdout, errorJson(thrown))
    else await write(process.stderr, errorText(asShoalError(thrown)))
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
  // The specification has a colon behind this one code.
  return `[${error.code}]${error.code === 'ERR_IO' ? ':' : ''} Error: ${withCauses(error)}`
}

/** An error that no command foresaw is a defect, and is told with its place. */
function asShoalError(thrown: unknown): ShoalError {
  if (thrown instanceof ShoalError) return thrown
  const damage = damageOf(thrown)
  if (damage !== undefined) return damage
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  return new ShoalError('ERR_INTERNAL_ERROR', `${stack}\nThis is a defect of shoal, please report it.`)
}

/** The message with those of its causes, one a line. */
export function withCauses(error: Error): string {
  const causes: string[] = []
  for (let cause = error.cause; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined)
    causes.push(`    ${messageOf(cause)}`)
  return causes.length === 0 ? error.message : [error.message, 'Caused by:', ...causes].join('\n')
}

export async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  await new Promise<void>((resolve) => stream.write(text.endsWith('\n') ? text : `${text}\n`, () => resolve()))
}

/** `shoal … | head` closes our output early: that is no error, and there is nobody left to write for. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok)
    throw error
  })
}
