import { type Command, InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../base/errors.ts'
import type { NamedNode } from '../client/on-node.ts'
import { dataFolder, defaultFolder } from '../environment.ts'
import { nextCommand } from '../output/next-command.ts'
import { type Result, report, type Streamed } from '../output/output.ts'
import { quoted } from '../output/quoted.ts'
import { setVerbosity } from '../output/verbose.ts'
import { ShoalCommand } from './shoal-command.ts'

/** Receives the exit code of the command that ran. */
export type Finish = (exitCode: number) => void

/** The options of a command, by name. */
export type Options = Readonly<Record<string, unknown>>

/** Makes the action of a command: runs it, writes its result as text or JSON, and sets the exit code. */
export function done(
  finish: Finish,
  command: (options: Options, ...args: unknown[]) => Promise<Result | Streamed>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const self = args.at(-1) as ShoalCommand
    const options = self.optsWithGlobals() as Options
    setVerbosity(Number(options['verbose'] ?? 0))
    const failed = { command: self.path, target: targetOf(self, options) }
    const next = (code: string, message: string): string | undefined => nextCommand(code, message, failed)
    finish(await report(options['json'] === true, () => command(options, ...args.slice(0, -2)), next))
  }
}

/** The arguments that name the node of a command, for the command to type next. */
function targetOf({ registeredArguments, processedArgs }: Command, options: Options): string {
  const folder = options['workingDir']
  if (typeof folder === 'string') return `--working-dir ${quoted(folder)}`
  const nodes = registeredArguments.flatMap((argument, i) => {
    if (argument.name() === 'node') return [processedArgs[i]].flat()
    // The first of two arguments is the node: `events query NODE QUERY`.
    return argument.name().startsWith('node-or-') && processedArgs[i + 1] !== undefined ? [processedArgs[i]] : []
  })
  return typeof nodes[0] === 'string' ? quoted(nodes[0]) : ''
}

export function folderOf(options: Options): string {
  return dataFolder(options['workingDir'] as string | undefined)
}

/** The node of a command: named by its address, or by its data folder. */
export function namedNode(options: Options, node: unknown): NamedNode {
  if (node !== undefined && options['workingDir'] !== undefined)
    throw new ShoalError('ERR_UNSUPPORTED', 'A node and --working-dir exclude each other.')
  return {
    folder: folderOf(options),
    node: node as string | undefined,
    identity: options['identity'] as string | undefined,
  }
}

/** Adds the options of a command whose first argument may be a node. */
export function withNodeOptions(command: Command): Command {
  return command.addOption(workingDir()).addOption(identity())
}

/** Adds the node as last argument of a command, and its options. */
export function onNode(command: Command): Command {
  return withNodeOptions(command.argument('[node]', nodeHelp))
}

/** Adds any number of nodes as last arguments of a command, and its options. */
export function onSeveralNodes(command: Command): Command {
  return withNodeOptions(command.argument('[node...]', nodeHelp))
    .addOption(timeout())
    .option('--strict', 'exit with 1 if a node has not answered')
}

/** The nodes of a command of `onSeveralNodes`; without an argument the one of the data folder. */
export function namedNodes(
  options: Options,
  nodes: unknown,
): { readonly named: NamedNode[]; readonly timeoutMs: number; readonly isStrict: boolean } {
  const names = nodes as string[]
  return {
    named: (names.length === 0 ? [undefined] : names).map((name) => namedNode(options, name)),
    timeoutMs: Number(options['timeout']) * 1000,
    isStrict: options['strict'] === true,
  }
}

/** Adds the options that say where a node listens. */
export function withBindOptions(command: Command): Command {
  return command
    .option(
      '--bind-admin <spec>',
      'address of the admin interface (default: localhost:4458; a port alone stays on this machine)',
      collect,
    )
    .option('--bind-swarm <spec>', 'address for other nodes (default: port 4001 on all addresses)', collect)
    .option('--bind-api <spec>', 'address of the API (default: localhost:4454; a port alone binds 127.0.0.1)', collect)
}

function timeout(): Option {
  return new Option('-t, --timeout <seconds>', 'seconds for connecting and answering, 0 to 255')
    .default(5)
    .argParser((text) => {
      if (/^\d{1,3}$/.test(text) && Number(text) <= 255) return Number(text)
      throw new InvalidArgumentError('Allowed: 0 to 255.')
    })
}

export const nodeHelp =
  'address of the admin port (host, host:port, URL or multiaddress; default port 4458) or data folder (default: that of --working-dir)'

export function identity(): Option {
  return new Option(
    '-i, --identity <key-or-file>',
    'file of the private key of the user, or the key, for an address (env: SHOAL_IDENTITY, which hides a key from others)',
  )
}

export function workingDir(what = 'data folder'): Option {
  return new Option('--working-dir <path>', `${what} (default: ${defaultFolder}; env: SHOAL_PATH)`)
}

export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value]
}

/** The examples of a command, below its options. */
export function examples(...lines: readonly (readonly [command: string, what: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length))
  return `\nExamples:\n${lines.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`).join('\n')}`
}

/** A command without subcommands. */
export function leaf(name: string, description: string): Command {
  return configured(new ShoalCommand(name).description(description))
}

/** A command with subcommands; alone it shows its help. */
export function group(name: string, description: string): Command {
  // Options belong to the command before them: `--version` of a group is not that of the program.
  return configured(new ShoalCommand(name).description(description).helpCommand(false).enablePositionalOptions())
}

function configured(command: Command): Command {
  return command
    .option('-j, --json', 'machine output')
    .option(
      '-v, --verbose',
      'say more on stderr; -vv even more, with shoal run also -vvv',
      (_, count: number = 0) => count + 1,
    )
    .helpOption('-h, --help', 'show this help')
    .exitOverride()
    .showSuggestionAfterError()
    .allowExcessArguments(false)
    .configureHelp({ showGlobalOptions: false })
}
