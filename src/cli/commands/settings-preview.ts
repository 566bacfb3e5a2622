import type { Applied, ValueChange } from '../../settings/index.ts'
import { table } from '../output/table.ts'
import { valueText } from '../output/value-text.ts'

interface Previewed {
  /** The revision in force. */
  readonly revision: number
  readonly applied: Applied
}

/** The result of a dry run, for people. */
export function previewText(
  changes: readonly ValueChange[],
  { revision, applied }: Previewed,
  isRunning: boolean,
): string {
  const { live, restart } = applied
  if (changes.length === 0) return 'Nothing would change.'
  const applies = (path: string): string => {
    if (live.includes(path)) return 'at once'
    if (!isRunning || !restart.includes(path)) return 'with the next start'
    return path === '/swarm/topic' ? 'at once: the node changes to the topic' : 'at once: the swarm restarts'
  }
  const rows = changes.map(({ path, before, after }) => [path, valueText(before), valueText(after), applies(path)])
  return `Nothing was stored. Of revision ${revision} this would change:\n${table(['SETTING', 'BEFORE', 'AFTER', 'APPLIES'], rows)}`
}
