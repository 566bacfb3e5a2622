import { Command, type ErrorOptions } from 'commander'
import { completedCommands } from '../completion/tree.ts'
import { namesakes, similarCommands } from './suggestions.ts'

/** A command whose errors end with the command to type next. */
export class ShoalCommand extends Command {
  /** The words of the command, like `shoal events query`. */
  get path(): string {
    return ancestors(this)
      .map((command) => command.name())
      .join(' ')
  }

  override error(message: string, options?: ErrorOptions): never {
    const [root = this] = ancestors(this)
    const paths = completedCommands(root).map((command) => command.path)
    const text = withSuggestion(message, options?.code ?? '', this.path, paths)
    super.error(`${text}\nType \`${this.path} --help\` for commands, options and examples.`, options)
  }
}

/** The program, the groups and the command itself. */
function ancestors(command: Command): Command[] {
  return command.parent === null ? [command] : [...ancestors(command.parent), command]
}

function withSuggestion(message: string, code: string, path: string, paths: readonly string[]): string {
  if (code === 'commander.excessArguments' || code === 'commander.unknownOption')
    return `${message}${asQuestion(namesakes(path, paths))}`
  if (code !== 'commander.unknownCommand') return message
  const [, problem = message, word = ''] = /^(.*unknown command '(.*?)')/s.exec(message) ?? []
  const found = similarCommands(word, paths)
  // Commander looks among the commands of the group only, where a similar word may be by chance.
  const isExact = found.some((command) => command.endsWith(` ${word}`))
  return isExact || !message.includes('(Did you mean') ? `${problem}${asQuestion(found)}` : message
}

function asQuestion(commands: readonly string[]): string {
  return commands.length === 0 ? '' : `\n(Did you mean ${commands.map((command) => `\`${command}\``).join(' or ')}?)`
}
