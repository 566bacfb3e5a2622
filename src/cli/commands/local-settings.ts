import { resolve } from 'node:path'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { systemClock } from '../../runtime/clock.ts'
import {
  type Applied,
  type Change,
  type ChangeOptions,
  formatScope,
  type Json,
  type Scope,
  Settings,
  type SettingsLog,
  schema,
  type ValueChange,
} from '../../settings/index.ts'
import { DataFolder, FolderLocked, NodeDatabase } from '../../store/index.ts'
import { readSource } from '../input.ts'
import type { Result } from '../output/output.ts'
import { quoted } from '../output/quoted.ts'

/** The author of a revision, in the history of the settings. */
const origin = 'command line'

export async function getLocal(folder: string, scope: Scope, defaults: boolean): Promise<Result> {
  const command = `get ${quoted(formatScope(scope))}${defaults ? '' : ' --no-defaults'}`
  return await whileStopped(folder, command, () => getInFolder(folder, scope, defaults))
}

export async function setLocal(folder: string, scope: Scope, argument: string): Promise<Result> {
  const value = await readValue(argument)
  return await whileStopped(folder, `set ${quoted(formatScope(scope))} ${quoted(argument)}`, async () => {
    const { settings } = await changeInFolder(folder, scope, { do: 'set', scope, value })
    return { text: () => replacedText(scope, settings), json: { scope: formatScope(scope), settings } }
  })
}

export async function unsetLocal(folder: string, scope: Scope): Promise<Result> {
  return await whileStopped(folder, `unset ${quoted(formatScope(scope))}`, async () => {
    await changeInFolder(folder, scope, { do: 'unset', scope })
    return { text: () => unsetText(scope), json: { scope: formatScope(scope) } }
  })
}

/** Restores an earlier revision, also when a damaged revision keeps the node from starting. */
export async function rollbackLocal(folder: string, argument: string): Promise<Result> {
  checkRevision(argument)
  const rollback = (): Promise<number> =>
    withDamagedSettings(folder, async (settings) => {
      await settings.rollback(Number(argument), origin)
      return settings.revision
    })
  const revision = await whileStopped(folder, `rollback ${argument}`, rollback)
  const text = `Successfully rolled back to revision ${argument}, stored as revision ${revision}.`
  return { text: () => text, json: { revision, restored: Number(argument) } }
}

export async function initLocal(folder: string, failOnExisting: boolean): Promise<Result> {
  if (failOnExisting && DataFolder.exists(folder))
    throw new ShoalError('ERR_INVALID_INPUT', `database already initialized in ${folder}`)
  const created = !DataFolder.exists(folder)
  const opened = DataFolder.open(folder, { create: true })
  try {
    NodeDatabase.open(opened.nodeDatabase).close()
  } finally {
    opened.close()
  }
  const text = created
    ? `Created settings in ${opened.path}.`
    : `Settings exist in ${opened.path}; nothing was changed.`
  return { text: () => text, json: { created, working_dir: opened.path } }
}

export async function printSchema(): Promise<Result> {
  return { text: () => JSON.stringify(schema, undefined, 2), json: schema }
}

/** The result of a change, in the form that the admin interface has. */
export interface SettingsChanged {
  readonly scope: string
  readonly settings: Json
  readonly revision: number
  readonly applied: Applied
  /** Only of a dry run. */
  readonly changes?: readonly ValueChange[]
}

/** The settings in the folder of a stopped node. */
export async function getInFolder(folder: string, scope: Scope, defaults: boolean): Promise<Result> {
  return valueResult(await withSettings(folder, async (settings) => settings.get(scope, { defaults })))
}

/** Changes the settings of a stopped node: everything takes effect with its next start. */
export async function changeInFolder(
  folder: string,
  scope: Scope,
  change: Change,
  options: Pick<ChangeOptions, 'keepsUser' | 'dryRun' | 'ifRevision'> = {},
): Promise<SettingsChanged> {
  const { value, revision, paths, changes } = await withSettings(folder, (settings) =>
    settings.change(change, { ...options, origin }),
  )
  const applied = { live: [], restart: paths }
  const changed = { scope: formatScope(scope), settings: value ?? null, revision, applied }
  return options.dryRun === true ? { ...changed, changes } : changed
}

/** Opens the settings of a stopped node even if their newest revision is damaged. */
export async function withDamagedSettings<T>(folder: string, work: (settings: Settings) => Promise<T>): Promise<T> {
  return await withSettings(folder, work, (log) => Settings.openIgnoringDamage(log, systemClock))
}

/** Authorizes a user of a stopped node. */
export async function addUserInFolder(folder: string, publicKey: string): Promise<void> {
  const scope = ['admin', 'authorizedUsers']
  await withSettings(folder, async (settings) => {
    const value = [...settings.document.admin.authorizedUsers, publicKey]
    await settings.change({ do: 'set', scope, value }, { origin })
  })
}

export function valueResult(value: Json): Result {
  return { text: () => yamlText(value), json: value }
}

export async function replacedText(scope: Scope, settings: Json): Promise<string> {
  const done = `Successfully replaced settings at ${formatScope(scope)}. Created object with defaults:`
  return `${done}\n${await yamlText(settings)}`
}

export function unsetText(scope: Scope): string {
  return `Successfully unset settings at ${formatScope(scope)}.`
}

export function checkRevision(argument: string): void {
  if (/^(0|[1-9][0-9]{0,14})$/.test(argument)) return
  throw new ShoalError(
    'ERR_INVALID_INPUT',
    `'${argument}' is not a revision. Allowed: its number, or 0 for the defaults.`,
  )
}

/** Runs a command that needs a stopped node. For a running one, the error names the command that works on it. */
async function whileStopped<T>(folder: string, command: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error
    const running = `shoal settings ${command} --working-dir ${quoted(resolve(folder))}`
    const cause = `${error.message} For the running node type \`${running}\`.`
    throw new ShoalError('ERR_IO', cause)
  }
}

async function withSettings<T>(
  path: string,
  work: (settings: Settings) => Promise<T>,
  open = (log: SettingsLog): Promise<Settings> => Settings.open(log, systemClock, warnOfInvalid),
): Promise<T> {
  const folder = DataFolder.open(path, { create: false })
  try {
    const database = NodeDatabase.open(folder.nodeDatabase)
    try {
      return await work(await open(database.settings))
    } finally {
      database.close()
    }
  } finally {
    folder.close()
  }
}

/** Warns on stderr that the newest revision is invalid: the command works on an older one. */
function warnOfInvalid(revision: number, reason: Error): void {
  process.stderr.write(
    `Warning: revision ${revision} of the settings is not valid and not in force: ${reason.message}\n`,
  )
}

/** Parses a value as JSON or YAML; `@file` and `@-` read it from a file or from stdin. */
export async function readValue(argument: string): Promise<Json> {
  const text = argument.startsWith('@') ? readSource(argument.slice(1)) : argument
  if (Buffer.byteLength(text) > limits.settingsDocumentBytes)
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `The value is too large: settings have at most ${limits.settingsDocumentBytes} bytes.`,
    )
  try {
    return JSON.parse(text) as Json
  } catch {
    return parseYaml(text)
  }
}

async function parseYaml(text: string): Promise<Json> {
  const { parse } = await import('yaml')
  try {
    return (parse(text, { stringKeys: true }) ?? null) as Json
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `The value is neither JSON nor YAML: ${messageOf(error)}`)
  }
}

async function yamlText(value: Json): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(value, { lineWidth: 0 })
}
