import { type Command, InvalidArgumentError, Option } from 'commander'
import { limits } from '../../base/limits.ts'
import { parseScope, type Scope } from '../../settings/index.ts'
import type { ChangedNode } from '../commands/node-settings.ts'
import {
  done,
  examples,
  type Finish,
  folderOf,
  group,
  identity,
  leaf,
  namedNode,
  nodeHelp,
  onNode,
  workingDir,
} from './command.ts'

const scopeHelp = 'path of a setting, like /swarm/topic; / is everything'
const valueHelp = 'JSON or YAML; @file reads a file, @- the standard input'
const forceHelp = 'also when it removes the last authorized user, so that the node can be claimed again'
const dryRunHelp = 'only say what would change, and what applies at once or by a restart'
const revisionHelp = 'number of the revision; 0 for the defaults'

export function settingsCommand(finish: Finish): Command {
  const settings = group('settings', 'read and change the settings of a node')
  settings.addCommand(
    leaf('schema', 'print the JSON schema of the settings')
      .argument('[node]', `${nodeHelp}; without one the schema of this command is printed`)
      .addOption(identity())
      .addHelpText(
        'after',
        examples(
          ['shoal settings schema', 'of this version of shoal'],
          ['shoal settings schema press7.local', 'of the node on another machine, with your user key'],
        ),
      )
      .action(
        done(finish, async (options, node) =>
          node === undefined
            ? (await commands()).printSchema()
            : (await import('../commands/node-settings.ts')).getSchema(namedNode(options, node)),
        ),
      ),
  )
  for (const command of nodeCommands(finish)) settings.addCommand(command)
  settings.addCommand(localCommand(finish))
  return settings
}

/** Commands for a node that may be running or stopped. */
function nodeCommands(finish: Finish): Command[] {
  const node = () => import('../commands/node-settings.ts')
  return [
    onNode(
      leaf('get', 'print the settings at a scope, of a running or stopped node')
        .argument('<scope>', scopeHelp, parseScope)
        .option('--no-defaults', 'without default values'),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal settings get /', 'all settings, with defaults'],
          ['shoal settings get /swarm/topic --json', 'one value, as JSON'],
          ['shoal settings get / --no-defaults', 'only what was set'],
          ['shoal settings get / press7.local', 'of the node on another machine, with your user key'],
        ),
      )
      .action(
        done(finish, async (options, scope, at) =>
          (await node()).getSettings(namedNode(options, at), scope as Scope, options['defaults'] !== false),
        ),
      ),
    onNode(
      leaf('set', 'replace the settings at a scope, of a running or stopped node')
        .argument('<scope>', scopeHelp, parseScope)
        .argument('<value>', valueHelp)
        .option('--force', forceHelp)
        .option('--dry-run', dryRunHelp)
        .addOption(ifRevision()),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal settings set /admin/displayName Press', 'applies at once'],
          ['shoal settings set /admin/logLevels/node DEBUG', 'applies at once'],
          ['shoal settings set /eventRouting @routes.yml', 'the value is in a file'],
          ['shoal settings set / @settings.yml --dry-run press7.local', 'what would change on another machine'],
          ['shoal settings set / @settings.yml --if-revision 7 press7.local', 'unless others have changed them since'],
        ),
      )
      .action(
        done(finish, async (options, scope, value, at) =>
          (await node()).setSettings(changedNode(options, at), scope as Scope, String(value)),
        ),
      ),
    onNode(
      leaf('unset', 'reset the settings at a scope to their defaults, of a running or stopped node')
        .argument('<scope>', scopeHelp, parseScope)
        .option('--force', forceHelp)
        .option('--dry-run', dryRunHelp)
        .addOption(ifRevision()),
    )
      .addHelpText('after', examples(['shoal settings unset /swarm/topic', 'back to the default']))
      .action(
        done(finish, async (options, scope, at) =>
          (await node()).unsetSettings(changedNode(options, at), scope as Scope),
        ),
      ),
    onNode(
      leaf('history', 'print the newest revisions of the settings: by whom, when, and what changed').addOption(
        new Option('--limit <count>', `number of revisions, 1 to ${limits.revisionsShown}`)
          .default(20)
          .argParser(countOf),
      ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal settings history', 'of the node in ./shoal-data, running or stopped'],
          ['shoal settings history press7.local --limit 5 --json', 'of the node on another machine, as JSON'],
        ),
      )
      .action(
        done(finish, async (options, at) =>
          (await import('../commands/settings-history.ts')).showHistory(
            namedNode(options, at),
            options['limit'] as number,
          ),
        ),
      ),
    onNode(
      leaf('rollback', 'restore an earlier revision of the settings, of a running or stopped node')
        .argument('<revision>', revisionHelp)
        .option('--force', forceHelp)
        .option('--dry-run', dryRunHelp)
        .addOption(ifRevision()),
    )
      .addHelpText('after', examples(['shoal settings rollback 3', 'store revision 3 again, as the newest one']))
      .action(
        done(finish, async (options, revision, at) =>
          (await node()).rollbackSettings(changedNode(options, at), String(revision)),
        ),
      ),
  ]
}

/** Commands that need a stopped node. */
function localCommand(finish: Finish): Command {
  const local = group('local', 'work on the settings of a stopped node')
  local.addCommand(
    leaf('get', 'print the settings at a scope')
      .argument('<scope>', scopeHelp, parseScope)
      .option('--no-defaults', 'without default values')
      .addOption(workingDir())
      .addHelpText(
        'after',
        examples(
          ['shoal settings local get /', 'all settings, with defaults'],
          ['shoal settings local get /swarm/topic --json', 'one value, as JSON'],
        ),
      )
      .action(
        done(finish, async (options, scope) =>
          (await commands()).getLocal(folderOf(options), scope as Scope, options['defaults'] !== false),
        ),
      ),
  )
  local.addCommand(
    leaf('set', 'replace the settings at a scope')
      .argument('<scope>', scopeHelp, parseScope)
      .argument('<value>', valueHelp)
      .addOption(workingDir())
      .addHelpText(
        'after',
        examples(
          ['shoal settings local set /swarm/topic hall-3', 'used by the next start'],
          ['shoal settings local set / @settings.yml', 'everything, from a file'],
        ),
      )
      .action(
        done(finish, async (options, scope, value) =>
          (await commands()).setLocal(folderOf(options), scope as Scope, String(value)),
        ),
      ),
  )
  local.addCommand(
    leaf('unset', 'reset the settings at a scope to their defaults')
      .argument('<scope>', scopeHelp, parseScope)
      .addOption(workingDir())
      .addHelpText('after', examples(['shoal settings local unset /swarm/topic', 'back to the default']))
      .action(done(finish, async (options, scope) => (await commands()).unsetLocal(folderOf(options), scope as Scope))),
  )
  local.addCommand(
    leaf('rollback', 'restore an earlier revision, for example when the newest one is damaged')
      .argument('<revision>', revisionHelp)
      .addOption(workingDir())
      .addHelpText('after', examples(['shoal settings local rollback 3', 'store revision 3 again, as the newest one']))
      .action(
        done(finish, async (options, revision) =>
          (await commands()).rollbackLocal(folderOf(options), String(revision)),
        ),
      ),
  )
  local.addCommand(
    leaf('init', 'create a data folder with default settings')
      .option('--fail-on-existing', 'fail if the data folder exists')
      .addOption(workingDir())
      .addHelpText(
        'after',
        examples(
          ['shoal settings local init', 'in ./shoal-data'],
          ['shoal settings local init --working-dir /var/lib/shoal --fail-on-existing', 'for scripts'],
        ),
      )
      .action(
        done(finish, async (options) =>
          (await commands()).initLocal(folderOf(options), options['failOnExisting'] === true),
        ),
      ),
  )
  return local
}

function changedNode(options: { readonly [name: string]: unknown }, at: unknown): ChangedNode {
  return {
    ...namedNode(options, at),
    force: options['force'] === true,
    dryRun: options['dryRun'] === true,
    ifRevision: options['ifRevision'] as number | undefined,
  }
}

function ifRevision(): Option {
  const help = 'refuse the change if another revision is in force, as `settings history` shows it'
  return new Option('--if-revision <revision>', help).argParser((text) => {
    if (/^(0|[1-9]\d{0,14})$/.test(text)) return Number(text)
    throw new InvalidArgumentError('Allowed: the number of a revision.')
  })
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= limits.revisionsShown) return Number(text)
  throw new InvalidArgumentError(`Allowed: 1 to ${limits.revisionsShown}.`)
}

function commands(): Promise<typeof import('../commands/local-settings.ts')> {
  return import('../commands/local-settings.ts')
}
