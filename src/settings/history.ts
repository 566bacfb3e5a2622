import { complete } from './document.ts'
import type { JsonObject } from './json.ts'
import type { HistoryEntry, Settings } from './settings.ts'
import { type ValueChange, valueChanges } from './value-changes.ts'

/** A revision for people: who made it, when, and how it differs from the one before it. */
export interface ShownRevision {
  readonly revision: number
  /** RFC 3339. */
  readonly time: string
  readonly origin: string
  /** The paths that differ; null when one of the two is damaged. */
  readonly changed: readonly string[] | null
  /** The same with the values, defaults included. */
  readonly changes: readonly ValueChange[] | null
}

/** The newest revisions, newest first. */
export function newestRevisions(settings: Settings, count: number): ShownRevision[] {
  // One more, to compare the last one with.
  const entries = [...settings.history(count + 1)]
  return entries.slice(0, count).map((entry, i) => shown(entry, i + 1 < entries.length ? entries[i + 1]?.document : {}))
}

function shown({ revision, time, origin, document }: HistoryEntry, before: JsonObject | undefined): ShownRevision {
  const changes =
    before === undefined || document === undefined ? null : valueChanges(complete(before), complete(document))
  const changed = changes?.map(({ path }) => path) ?? null
  return { revision, time: new Date(time / 1000).toISOString(), origin, changed, changes }
}
