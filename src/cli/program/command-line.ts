import { type Command, Option } from 'commander'
import type { Endpoint, Order } from '../../aql/index.ts'
import { versionString } from '../../runtime/version.ts'
import { benchCommand } from './bench-command.ts'
import {
  collect,
  done,
  examples,
  type Finish,
  group,
  leaf,
  type Options,
  withBindOptions,
  workingDir,
} from './command.ts'
import { completeCommand } from './complete-command.ts'
import { doctorCommand } from './doctor-command.ts'
import { eventsCommand } from './events-commands.ts'
import { filesCommand } from './files-commands.ts'
import { helpCommand } from './help-command.ts'
import { internalCommand, showsInternal } from './internal-commands.ts'
import { nodesCommand } from './nodes-commands.ts'
import { settingsCommand } from './settings-commands.ts'
import { storeCommand } from './store-commands.ts'
import { swarmsCommand } from './swarms-commands.ts'
import { topCommand } from './top-command.ts'
import { topicsCommand } from './topics-commands.ts'
import { usersCommand } from './users-commands.ts'

/** The command line: commands and options. The implementation of a command is loaded when it runs. */
export function program(finish: Finish, json: boolean): Command {
  const root = group('shoal', 'A local-first node: events, files and websites, replicated in a swarm without a server.')
  root.addCommand(runCommand(finish))
  root.addCommand(eventsCommand(finish))
  root.addCommand(nodesCommand(finish))
  root.addCommand(topicsCommand(finish))
  root.addCommand(swarmsCommand(finish))
  root.addCommand(settingsCommand(finish))
  root.addCommand(usersCommand(finish))
  root.addCommand(filesCommand(finish))
  root.addCommand(storeCommand(finish))
  root.addCommand(aqlCommand(finish))
  root.addCommand(doctorCommand(finish))
  root.addCommand(topCommand(finish))
  root.addCommand(benchCommand(finish))
  root.addCommand(completeCommand(finish, () => root))
  root.addCommand(helpCommand(root))
  root.addCommand(internalCommand(finish), { hidden: !showsInternal() })
  nameVersion(root, [])
  // With --json the caller writes errors as one line of JSON.
  if (json) silence(root)
  return root
}

/** Adds `--version` to the program and to all groups: the reference system prints `<words with hyphens> <version>`. */
function nameVersion(group: Command, parents: readonly string[]): void {
  if (group.commands.length === 0) return
  const words = [...parents, group.name()]
  group.version(`${words.join('-')} ${versionString}`, '-V, --version', 'print the version')
  for (const command of group.commands) nameVersion(command, words)
}

function silence(command: Command): void {
  command.configureOutput({ writeErr: () => {} })
  for (const subcommand of command.commands) silence(subcommand)
}

function runCommand(finish: Finish): Command {
  return withBindOptions(leaf('run', 'run a node in the foreground, until Ctrl+C or SIGTERM').addOption(workingDir()))
    .option('--api-host <name>', 'a further host name under which the API is reached; a port is ignored', collect)
    .option('--cors-origins <origin>', 'an origin that may use the API from a browser (default: every origin)', collect)
    .option('--naming-domain <domain>', 'where names become websites: <name>.<domain> (default: actyx.localhost)')
    .option(
      '--root-public-key <key>',
      'the key that signs developer certificates and licences (env: SHOAL_ROOT_PUBLIC_KEY)',
    )
    .option(
      '--memory-limit <size>',
      'memory limit for all clients together, like 256MiB (default: 512MiB, at most a quarter of the process memory; env: SHOAL_MEMORY_LIMIT)',
    )
    .option('--standalone', 'exchange nothing with other nodes (env: SHOAL_STANDALONE)')
    .addOption(new Option('--retention-interval <ms>', 'interval of the retention task').hideHelp())
    .addOption(new Option('-r, --random', 'let the system pick all ports').hideHelp())
    .option(
      '--log-color <when>',
      'on, off or auto: colours in the log (default: auto, on a terminal unless NO_COLOR is set; env: SHOAL_LOG_COLOR)',
    )
    .option('--log-json <when>', 'on, off or auto: log lines as JSON (default: off; env: SHOAL_LOG_JSON)')
    .option('--print-addresses', 'print one line of JSON with node ID and addresses once the node runs')
    .option('--pid-file <file>', 'write the process ID there while the node runs')
    .option('--exit-on-stdin-close', 'stop when the standard input ends, for supervisors')
    .addHelpText('after', bindHelp)
    .action(async (_options: Options, self: Command) => {
      const { run } = await import('../commands/run.ts')
      finish(await run(self.optsWithGlobals<Parameters<typeof run>[0]>()))
    })
}

const bindHelp = `
A <spec> is a port, a host, host:port or a multiaddress like /ip4/127.0.0.1/tcp/4454. Port 0 picks a free one: the log
lines API_BOUND, ADMIN_API_BOUND and SWARM_SERVICES_BOUND name it. An option can be given several times with hosts.

The log level is the setting /admin/logLevels/node; the environment variable SHOAL_LOG overrides it.
${examples(
  ['shoal run', 'with its data in ./shoal-data'],
  ['shoal run --working-dir /var/lib/shoal --bind-admin 0.0.0.0', 'managed from other machines, too'],
  ['shoal run --bind-api 4464 --bind-admin 4468 --bind-swarm 4011', 'a second node on this machine'],
)}`

function aqlCommand(finish: Finish): Command {
  const aql = group('aql', 'validate, format and run queries without a node')
  const commands = () => import('../commands/aql.ts')
  const endpoint = new Option('--endpoint <name>', 'endpoint that the query is meant for').default('query')
  aql.addCommand(
    leaf('check', 'validate a query, and list the features that it uses')
      .argument('<text>', 'the query; - reads the standard input')
      .addOption(endpoint.choices(['query', 'subscribe', 'subscribe_monotonic']))
      .addHelpText(
        'after',
        examples(
          [`shoal aql check "FROM 'temperature' FILTER _.celsius > 30"`, 'the features that it uses, or what is wrong'],
          ['shoal aql check - < query.aql', 'of a file'],
        ),
      )
      .action(
        done(finish, async (options, text) =>
          (await commands()).checkQuery(String(text), options['endpoint'] as Endpoint),
        ),
      ),
  )
  aql.addCommand(
    leaf('format', 'pretty-print a query, one line per stage; comments are lost')
      .argument('<text>', 'the query; - reads the standard input')
      .addHelpText('after', examples(['shoal aql format - < query.aql', 'of a file']))
      .action(done(finish, async (_, text) => (await commands()).formatQuery(String(text)))),
  )
  aql.addCommand(
    leaf('run', 'run a query on a file of events or the data of a stopped node; prints one message per line')
      .argument('<text>', 'the query; - reads the standard input')
      .option('--events <file>', 'one JSON object per line, as in PRAGMA events: payload, tags, appId, timestamp')
      .addOption(workingDir('data folder of a stopped node').conflicts('events'))
      .addOption(
        new Option('--order <order>', 'order of events, unless the query has its own')
          .default('asc')
          .choices(['asc', 'desc', 'stream-asc']),
      )
      .addHelpText(
        'after',
        examples(
          ['shoal aql run "FROM allEvents"', 'of the stopped node in ./shoal-data'],
          ['shoal aql run - --events events.ndjson < query.aql', 'on events in a file, without a node'],
        ),
      )
      .action(
        done(finish, async (options, text) => {
          const order = options['order'] as Order
          const folder = options['workingDir'] as string | undefined
          const events = options['events'] as string | undefined
          return (await import('../commands/aql-run.ts')).runQuery(String(text), { events, folder, order })
        }),
      ),
  )
  return aql
}
