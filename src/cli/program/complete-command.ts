import { Argument, type Command } from 'commander'
import type { Shell } from '../commands/complete.ts'
import { done, examples, type Finish, leaf } from './command.ts'

/** @param root the program whose commands are completed */
export function completeCommand(finish: Finish, root: () => Command): Command {
  return leaf('complete', 'print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish', 'elvish', 'powershell']))
    .addHelpText(
      'after',
      `
The first lines of a script say how to load it.
${examples(
  ['source <(shoal complete bash)', 'in ~/.bashrc'],
  ['source <(shoal complete zsh)', 'in ~/.zshrc, after compinit'],
  ['shoal complete fish | source', 'in ~/.config/fish/config.fish'],
)}`,
    )
    .action(
      done(finish, async (_, shell) =>
        (await import('../commands/complete.ts')).printCompletion(shell as Shell, root()),
      ),
    )
}
