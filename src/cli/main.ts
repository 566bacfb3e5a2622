import { CommanderError } from 'commander'
import { ShoalError } from '../base/errors.ts'
import { program } from './command-line.ts'
import { exitCodes, exitOnClosedPipe, write } from './output.ts'

const json = process.argv.some((argument) => argument === '--json' || argument === '-j')

/** Reports invalid arguments: as text on stderr, or as JSON on stdout with --json. */
async function usageError(error: ShoalError): Promise<number> {
  if (json) await write(process.stdout, JSON.stringify(error))
  else await write(process.stderr, `error: ${error.message}`)
  return exitCodes.usage
}

async function main(): Promise<number> {
  let exitCode: number = exitCodes.ok
  try {
    const commands = program((code) => {
      exitCode = code
    }, json)
    await commands.parseAsync()
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already written its message or the help, except with --json.
      if (error.exitCode === 0) return exitCodes.ok
      return json ? usageError(new ShoalError('ERR_INVALID_INPUT', error.message)) : exitCodes.usage
    }
    if (error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT') return usageError(error)
    throw error
  }
}

// Keys, settings and events are private to their owner.
process.umask(0o077)
exitOnClosedPipe()
void main().then((exitCode) => process.exit(exitCode))
