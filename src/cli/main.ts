import { type Command, CommanderError } from 'commander'
import { ShoalError } from '../base/errors.ts'
import { exitCodes, exitOnClosedPipe, write } from './output/output.ts'
import { program } from './program/command-line.ts'

const json = process.argv.some((argument) => argument === '--json' || argument === '-j')

/** Reports invalid arguments: as text on stderr, or as JSON on stdout with --json. */
async function usageError(error: ShoalError, commands: Command): Promise<number> {
  if (json) await write(process.stdout, JSON.stringify(error))
  else
    await write(
      process.stderr,
      `error: ${error.message}\nType \`${typedCommand(commands)} --help\` for options and examples.`,
    )
  return exitCodes.usage
}

/** The command in the arguments, without what follows it. */
function typedCommand(root: Command): string {
  const words = process.argv.slice(2).filter((word) => !word.startsWith('-'))
  let [command, path] = [root, root.name()]
  for (const word of words) {
    const found = command.commands.find((one) => one.name() === word)
    if (found === undefined) break
    command = found
    path += ` ${word}`
  }
  return path
}

async function main(): Promise<number> {
  let exitCode: number = exitCodes.ok
  const commands = program((code) => {
    exitCode = code
  }, json)
  try {
    await commands.parseAsync()
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already written its message or the help, except with --json.
      if (error.exitCode === 0) return exitCodes.ok
      return json ? usageError(new ShoalError('ERR_INVALID_INPUT', error.message), commands) : exitCodes.usage
    }
    if (error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT') return usageError(error, commands)
    throw error
  }
}

// Keys, settings and events are private to their owner.
process.umask(0o077)
exitOnClosedPipe()
void main().then((exitCode) => process.exit(exitCode))
