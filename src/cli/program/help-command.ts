import type { Command } from 'commander'
import { examples, leaf } from './command.ts'

/** `shoal help events query` is `shoal events query --help`. */
export function helpCommand(root: Command): Command {
  return leaf('help', 'show the help of a command')
    .argument('[command...]', 'the words of the command')
    .addHelpText('after', examples(['shoal help events query', 'as `shoal events query --help`']))
    .action((words: readonly string[]) => {
      const command = words.reduce((group, word) => subcommand(group, word), root)
      command.outputHelp()
    })
}

function subcommand(group: Command, word: string): Command {
  const found = group.commands.find((command) => command.name() === word)
  return found ?? group.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' })
}
