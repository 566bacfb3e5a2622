import { systemRuntime } from '../../runtime/system-runtime.ts'
import { newestRevisions, type ShownRevision } from '../../settings/index.ts'
import { type NamedNode, onNode } from '../client/on-node.ts'
import type { Result } from '../output/output.ts'
import { table } from '../output/table.ts'
import { valueText } from '../output/value-text.ts'
import { withDamagedSettings } from './local-settings.ts'

/** The newest revisions of the settings, of a node that may be running or stopped. */
export async function showHistory(named: NamedNode, limit: number): Promise<Result> {
  const revisions = await onNode(named, systemRuntime, {
    running: (node) => node.request<ShownRevision[]>({ method: 'GET', path: `/settings/history?limit=${limit}` }),
    stopped: (folder) => withDamagedSettings(folder, async (settings) => newestRevisions(settings, limit)),
  })
  return { text: () => historyText(revisions), json: revisions }
}

function historyText(revisions: readonly ShownRevision[]): string {
  if (revisions.length === 0) return 'Nothing was set yet: the defaults are in force.'
  return table(['REVISION', 'TIME', 'BY', 'CHANGED', 'BEFORE', 'AFTER'], revisions.flatMap(rowsOf))
}

/** One row per changed value; the revision is named in its first one. */
function rowsOf({ revision, time, origin, changes }: ShownRevision): string[][] {
  const head = [String(revision), time, origin]
  if (changes === null) return [[...head, 'this revision or the one before it is damaged', '', '']]
  if (changes.length === 0) return [[...head, '', '', '']]
  return changes.map(({ path, before, after }, i) => [
    ...(i === 0 ? head : ['', '', '']),
    path,
    valueText(before),
    valueText(after),
  ])
}
