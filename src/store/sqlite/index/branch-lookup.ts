import type { Branch } from '../../port/index.ts'
import { type WantedLabels, wantedLabels } from './wanted-labels.ts'

/** Branches under one tag: all of an event that has it are selected, or those that fulfil one of these as well. */
type File = 'enough' | { readonly branches: Branch[]; wanted?: readonly WantedLabels[] }

/**
 * Many branches, each filed under one of its tags, so that an event is compared only with those of its own tags. `keyOf`
 * gives the form in which labels come.
 */
export class BranchLookup {
  readonly #byTag = new Map<string, File>()
  /** Apps that are enough. */
  readonly #apps = new Set<string>()

  constructor(branches: readonly Branch[], keyOf: (label: string) => string) {
    for (const { tags, appId } of branches) {
      const [tag] = tags
      if (tag === undefined) this.#apps.add(keyOf(appId ?? ''))
      else if (tags.length === 1 && appId === undefined) this.#byTag.set(keyOf(tag), 'enough')
    }
    const keys = new Map<string, string>()
    const known = (label: string): string => {
      const key = keys.get(label) ?? keyOf(label)
      keys.set(label, key)
      return key
    }
    for (const branch of branches) if (branch.tags.length > 0) this.#file(branch, known)
  }

  hasApp(keyOfApp: () => string): boolean {
    return this.#apps.size > 0 && this.#apps.has(keyOfApp())
  }

  /** Whether a branch is filed under this tag that is fulfilled. */
  hasTag(key: string, isFulfilled: (wanted: WantedLabels) => boolean): boolean {
    const file = this.#byTag.get(key)
    if (file === undefined || file === 'enough') return file === 'enough'
    file.wanted ??= wantedLabels(file.branches)
    return file.wanted.some(isFulfilled)
  }

  /** Files a branch under the tag with the fewest branches so far. */
  #file(branch: Branch, keyOf: (label: string) => string): void {
    let fewest: string | undefined
    let count = Number.POSITIVE_INFINITY
    for (const tag of branch.tags) {
      const key = keyOf(tag)
      const file = this.#byTag.get(key)
      if (file === 'enough') return
      const filed = file?.branches.length ?? 0
      if (filed < count) [fewest, count] = [key, filed]
    }
    if (fewest === undefined) return
    const file = this.#byTag.get(fewest)
    if (file === undefined) this.#byTag.set(fewest, { branches: [branch] })
    else if (file !== 'enough') file.branches.push(branch)
  }
}
