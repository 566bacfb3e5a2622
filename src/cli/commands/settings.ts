import { messageOf, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { systemClock } from '../../runtime/clock.ts'
import { formatScope, type Json, type Scope, Settings, type SettingsLog, schema } from '../../settings/index.ts'
import { DataFolder, NodeDatabase } from '../../store/index.ts'
import { readSource } from '../input.ts'
import type { Result } from '../output.ts'

/** The author of a revision, in the history of the settings. */
const origin = 'command line'

export async function getLocal(folder: string, scope: Scope, defaults: boolean): Promise<Result> {
  const value = await withSettings(folder, async (settings) => settings.get(scope, { defaults }))
  return { text: () => yamlText(value), json: value }
}

export async function setLocal(folder: string, scope: Scope, argument: string): Promise<Result> {
  const value = await readValue(argument)
  const settings = await withSettings(folder, (settings) => settings.set(scope, value, origin))
  const done = `Successfully replaced settings at ${formatScope(scope)}. Created object with defaults:`
  return { text: async () => `${done}\n${await yamlText(settings)}`, json: { scope: formatScope(scope), settings } }
}

export async function unsetLocal(folder: string, scope: Scope): Promise<Result> {
  await withSettings(folder, (settings) => settings.unset(scope, origin))
  return { text: () => `Successfully unset settings at ${formatScope(scope)}.`, json: { scope: formatScope(scope) } }
}

/** Restores an earlier revision, also when a damaged revision keeps the node from starting. */
export async function rollbackLocal(folder: string, argument: string): Promise<Result> {
  if (!/^(0|[1-9][0-9]{0,14})$/.test(argument))
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `'${argument}' is not a revision. Allowed: its number, or 0 for the defaults.`,
    )
  const open = (log: SettingsLog): Promise<Settings> => Settings.openIgnoringDamage(log, systemClock)
  const revision = await withSettings(
    folder,
    async (settings) => {
      await settings.rollback(Number(argument), origin)
      return settings.revision
    },
    open,
  )
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
async function readValue(argument: string): Promise<Json> {
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
