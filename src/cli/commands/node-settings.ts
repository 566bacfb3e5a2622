import { systemRuntime } from '../../runtime/system-runtime.ts'
import { type Change, formatScope, type Json, type Scope } from '../../settings/index.ts'
import { type NamedNode, nodeArgument, onNode, onRunningNode } from '../client/on-node.ts'
import type { Result } from '../output/output.ts'
import { quoted } from '../output/quoted.ts'
import {
  changeInFolder,
  checkRevision,
  getInFolder,
  readValue,
  replacedText,
  type SettingsChanged,
  unsetText,
  valueResult,
} from './local-settings.ts'
import { previewText } from './settings-preview.ts'

/** The settings of a node, which may be running or stopped. */
export async function getSettings(named: NamedNode, scope: Scope, defaults: boolean): Promise<Result> {
  return await onNode(named, systemRuntime, {
    running: async (node) =>
      valueResult(await node.request<Json>({ method: 'GET', path: `${pathOf(scope)}&defaults=${defaults}` })),
    stopped: (folder) => getInFolder(folder, scope, defaults),
  })
}

/** The schema of a running node, which may be of another version. */
export async function getSchema(named: NamedNode): Promise<Result> {
  const schema = await onRunningNode(named, systemRuntime, (node) =>
    node.request<Json>({ method: 'GET', path: '/settings/schema' }),
  )
  return { text: () => JSON.stringify(schema, undefined, 2), json: schema }
}

/** A node whose settings are changed, with the options of the change. */
export interface ChangedNode extends NamedNode {
  /** Whether its last authorized user may be removed. */
  readonly force?: boolean
  /** Whether the change is only validated and shown. */
  readonly dryRun?: boolean
  /** The change is refused if another revision is in force. */
  readonly ifRevision?: number | undefined
}

export async function setSettings(named: ChangedNode, scope: Scope, argument: string): Promise<Result> {
  // Read once, since `onNode` may retry: it may be stdin.
  const value = await readValue(argument)
  const { note, preview, ...changed } = await change(named, scope, { do: 'set', scope, value })
  if (preview !== undefined) return { text: () => preview, json: changed }
  return { text: () => replacedText(scope, changed.settings), json: changed, note }
}

export async function unsetSettings(named: ChangedNode, scope: Scope): Promise<Result> {
  const { note, preview, ...changed } = await change(named, scope, { do: 'unset', scope })
  if (preview !== undefined) return { text: () => preview, json: changed }
  const { revision, applied } = changed
  return { text: () => unsetText(scope), json: { scope: formatScope(scope), revision, applied }, note }
}

export async function rollbackSettings(named: ChangedNode, argument: string): Promise<Result> {
  checkRevision(argument)
  const restored = Number(argument)
  const { note, preview, ...changed } = await change(named, [], { do: 'rollback', revision: restored })
  if (preview !== undefined) return { text: () => preview, json: changed }
  const { revision, applied } = changed
  const text = `Successfully rolled back to revision ${argument}, stored as revision ${revision}.`
  return { text: () => text, json: { revision, restored, applied }, note }
}

interface Done extends SettingsChanged, Pick<Result, 'note'> {
  /** The text of a dry run. */
  readonly preview?: string
}

/** Changes the settings of a running or stopped node. Only a running one gets a note, about a restart of its parts. */
async function change(named: ChangedNode, scope: Scope, change: Change): Promise<Done> {
  const { force = false, dryRun = false, ifRevision } = named
  const check = `shoal settings get ${quoted(formatScope(scope))} ${nodeArgument(named)}`
  const done = (changed: SettingsChanged, isRunning: boolean): Done => {
    const { changes, applied } = changed
    if (changes !== undefined) return { ...changed, preview: previewText(changes, changed, isRunning) }
    return isRunning ? { ...changed, note: noteOf(applied) } : changed
  }
  return await onNode<Done>(named, systemRuntime, {
    running: async (node) =>
      done(
        await node.request<SettingsChanged>({ ...requestOf(scope, change, { force, dryRun }), ifRevision, check }),
        true,
      ),
    stopped: async (folder) =>
      done(await changeInFolder(folder, scope, change, { keepsUser: !force, dryRun, ifRevision }), false),
  })
}

function requestOf(
  scope: Scope,
  change: Change,
  { force, dryRun }: { force: boolean; dryRun: boolean },
): { method: 'PUT' | 'POST' | 'DELETE'; path: string; body?: unknown } {
  const options = `force=${force}&dryRun=${dryRun}`
  const path = `${pathOf(scope)}&${options}`
  switch (change.do) {
    case 'rollback':
      return { method: 'POST', path: `/settings/rollback?${options}`, body: { revision: change.revision } }
    case 'unset':
      return { method: 'DELETE', path }
    default:
      return { method: 'PUT', path, body: change.value }
  }
}

function pathOf(scope: Scope): string {
  return `/settings?scope=${encodeURIComponent(formatScope(scope))}`
}

/** Says by which restart a running node applies a change. */
function noteOf({ restart }: SettingsChanged['applied']): string | undefined {
  if (restart.includes('/swarm/topic')) return 'The node changes to the topic now: /readyz says when it is open.'
  return restart.length === 0 ? undefined : 'The node restarts its swarm now.'
}
