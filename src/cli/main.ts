import { CommanderError } from 'commander'
import { ShoalError } from '../errors.ts'
import { endQuietlyOnClosedPipe, exitCodes, write } from './output.ts'
import { program } from './program.ts'

/** Arguments that cannot be parsed: said on stderr as text, and with --json on stdout for programs. */
async function usageError(error: ShoalError): Promise<number> {
  const json = process.argv.some((argument) => argument === '--json' || argument === '-j')
  if (json) await write(process.stdout, JSON.stringify(error))
  else await write(process.stderr, `error: ${error.message}`)
  return exitCodes.usage
}

async function main(): Promise<number> {
  let exitCode: number = exitCodes.ok
  try {
    await program((code) => {
      exitCode = code
    }).parseAsync()
    return exitCode
  } catch (error) {
    // Commander has written its message or the help already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    if (error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT') return usageError(error)
    throw error
  }
}

endQuietlyOnClosedPipe()
void main().then((exitCode) => process.exit(exitCode))
