import type { Command } from 'commander'

/** A command as completion scripts need it. */
export interface CompletedCommand {
  /** The words of the command, like `shoal events query`. */
  readonly path: string
  /** Subcommands, or the choices of the first argument. */
  readonly subcommands: readonly Word[]
  readonly options: readonly CompletedOption[]
}

export interface Word {
  readonly text: string
  readonly description: string
}

export interface CompletedOption {
  /** `-j` and `--json`. */
  readonly flags: readonly string[]
  readonly description: string
  /** Whether a value follows. */
  readonly takesValue: boolean
  /** The allowed values, if there are few. */
  readonly values: readonly string[]
}

/** All visible commands of a tree, the outermost first. */
export function completedCommands(command: Command, parents: readonly string[] = []): CompletedCommand[] {
  const words = [...parents, command.name()]
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command)
  const own: CompletedCommand = {
    path: words.join(' '),
    subcommands: [
      ...argumentChoices(command),
      ...subcommands.map((one) => ({ text: one.name(), description: firstLine(one.description()) })),
    ],
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
      description: firstLine(option.description),
      takesValue: option.required || option.optional,
      values: option.argChoices ?? [],
    })),
  }
  return [own, ...subcommands.flatMap((one) => completedCommands(one, words))]
}

/** The choices of the first argument, as in `shoal complete bash`. */
function argumentChoices({ registeredArguments: [first] }: Command): Word[] {
  return (first?.argChoices ?? []).map((text) => ({ text, description: first?.description ?? '' }))
}

/** Subcommands and options of a command. */
export function wordsOf({ subcommands, options }: CompletedCommand): Word[] {
  const flags = options.flatMap((option) => option.flags.map((text) => ({ text, description: option.description })))
  return [...subcommands, ...flags]
}

/** Options that a value follows, each with the words of its command before it. */
export function valueOptions(commands: readonly CompletedCommand[]): { at: string; values: readonly string[] }[] {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ flags, values }) => flags.map((flag) => ({ at: `${path} ${flag}`, values }))),
  )
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}
