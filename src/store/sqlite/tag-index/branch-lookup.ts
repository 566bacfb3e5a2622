import type { Branch } from '../../port/index.ts'
import { type WantedLabels, wantedLabels } from './wanted-labels.ts'

/** The entry of a tag: it selects all events with the tag, or those that match one of its branches. */
type Entry = 'all' | { readonly branches: Branch[]; wanted?: readonly WantedLabels[] }

/**
 * A hash map of many branches, each under one of its tags: an event is compared only with the branches of its own tags.
 * `keyOf` encodes a label in the form in which it is looked up.
 */
export class BranchLookup {
  readonly #byTag = new Map<string, Entry>()
  /** Apps all of whose events are selected. */
  readonly #apps = new Set<string>()

  constructor(branches: readonly Branch[], keyOf: (label: string) => string) {
    for (const { tags, appId } of branches) {
      const [tag] = tags
      if (tag === undefined) this.#apps.add(keyOf(appId ?? ''))
      else if (tags.length === 1 && appId === undefined) this.#byTag.set(keyOf(tag), 'all')
    }
    const keys = new Map<string, string>()
    const known = (label: string): string => {
      const key = keys.get(label) ?? keyOf(label)
      keys.set(label, key)
      return key
    }
    for (const branch of branches) if (branch.tags.length > 0) this.#insert(branch, known)
  }

  hasApp(keyOfApp: () => string): boolean {
    return this.#apps.size > 0 && this.#apps.has(keyOfApp())
  }

  /** Whether a branch of this tag matches. */
  hasTag(key: string, isMatch: (wanted: WantedLabels) => boolean): boolean {
    const entry = this.#byTag.get(key)
    if (entry === undefined || entry === 'all') return entry === 'all'
    entry.wanted ??= wantedLabels(entry.branches)
    return entry.wanted.some(isMatch)
  }

  /** Inserts a branch under the tag with the fewest branches so far. */
  #insert(branch: Branch, keyOf: (label: string) => string): void {
    let fewest: string | undefined
    let count = Number.POSITIVE_INFINITY
    for (const tag of branch.tags) {
      const key = keyOf(tag)
      const entry = this.#byTag.get(key)
      if (entry === 'all') return
      const branches = entry?.branches.length ?? 0
      if (branches < count) [fewest, count] = [key, branches]
    }
    if (fewest === undefined) return
    const entry = this.#byTag.get(fewest)
    if (entry === undefined) this.#byTag.set(fewest, { branches: [branch] })
    else if (entry !== 'all') entry.branches.push(branch)
  }
}
