import type { Branch, Selection } from '../../port/index.ts'
import { LabelMatcher } from './label-matcher.ts'
import { appHash, tagHash } from './tag-index.ts'

/** The lookup in the index that finds candidates. */
export type WantedHashes =
  /** For each branch the hashes that an event must have. */
  | { readonly kind: 'each'; readonly hashes: readonly (readonly number[])[] }
  /** One hash for each branch: an event without any of them matches no branch. */
  | { readonly kind: 'any'; readonly hashes: ReadonlySet<number> }

/** Number of branches with a single label from which the rows of the index are read once for all of them. */
const manySingle = 32
/** The same for branches of any kind: reading rows for each label of each branch would take too long. */
const manyBranches = 256

/**
 * The branches that apply to a stream, prepared for matching. This takes time in proportion to their number, so it is
 * done once for all streams and cursors of a selection.
 */
export class BranchSet {
  readonly isEmpty: boolean
  readonly #branches: readonly Branch[]
  readonly #selectsAll: boolean
  #matcher: LabelMatcher | undefined
  #wanted: WantedHashes | undefined

  constructor(branches: readonly Branch[]) {
    this.#branches = branches
    this.isEmpty = branches.length === 0
    this.#selectsAll = selectsAll(branches)
  }

  /** Undefined when all events are selected. */
  get matcher(): LabelMatcher | undefined {
    if (this.#selectsAll) return undefined
    this.#matcher ??= new LabelMatcher(this.#branches)
    return this.#matcher
  }

  /** Undefined when all events are selected: then the index is not used. */
  get wanted(): WantedHashes | undefined {
    if (this.#selectsAll) return undefined
    this.#wanted ??= wantedBy(this.#branches)
    return this.#wanted
  }
}

interface BranchSets {
  readonly own: BranchSet
  readonly others: BranchSet
}

const known = new WeakMap<Selection['anyOf'], BranchSets>()

/** The branches of a selection that apply to the streams of this node, and to those of others. */
export function branchSetsOf({ anyOf }: Selection): BranchSets {
  const sets = known.get(anyOf) ?? newBranchSets(anyOf)
  known.set(anyOf, sets)
  return sets
}

function newBranchSets(anyOf: readonly Branch[]): BranchSets {
  const own = new BranchSet(anyOf.filter((branch) => branch.own !== false))
  const isSame = anyOf.every((branch) => branch.own === undefined)
  return { own, others: isSame ? own : new BranchSet(anyOf.filter((branch) => branch.own !== true)) }
}

function wantedBy(branches: readonly Branch[]): WantedHashes {
  const isSingle = ({ tags, appId }: Branch): boolean => tags.length + (appId === undefined ? 0 : 1) === 1
  if (branches.length >= manyBranches || (branches.length >= manySingle && branches.every(isSingle)))
    return { kind: 'any', hashes: rarestOf(branches) }
  const hashes = branches.map(({ tags, appId }) => [
    ...tags.map((tag) => tagHash(tag)),
    ...(appId === undefined ? [] : [appHash(appId)]),
  ])
  return { kind: 'each', hashes }
}

/** For each branch the hash of its tag that the fewest branches have; of its app if it has no tags. */
function rarestOf(branches: readonly Branch[]): Set<number> {
  const uses = usesOf(branches)
  const labels = new Set<string>()
  const hashes = new Set<number>()
  for (const { tags, appId } of branches) {
    const rarest = rarestIn(tags, uses)
    if (rarest !== undefined) labels.add(rarest)
    else if (appId !== undefined) hashes.add(appHash(appId))
  }
  for (const tag of labels) hashes.add(tagHash(tag))
  return hashes
}

function usesOf(branches: readonly Branch[]): ReadonlyMap<string, number> {
  const uses = new Map<string, number>()
  for (const { tags } of branches) for (const tag of tags) uses.set(tag, (uses.get(tag) ?? 0) + 1)
  return uses
}

function rarestIn(tags: readonly string[], uses: ReadonlyMap<string, number>): string | undefined {
  let [rarest] = tags
  for (const tag of tags) if ((uses.get(tag) ?? 0) < (uses.get(rarest as string) ?? 0)) rarest = tag
  return rarest
}

/** Whether one of the branches matches all events. */
function selectsAll(branches: readonly Branch[]): boolean {
  return branches.some(({ tags, appId }) => tags.length === 0 && appId === undefined)
}
