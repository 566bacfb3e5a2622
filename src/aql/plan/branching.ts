import type { TagAtom, TagChain, TagExpr } from '../ast.ts'
import type { Pace, Steps } from '../steps.ts'
import { branchesWithoutSupersets, intersection } from './branches.ts'
import { keyRange, timeRange } from './key-ranges.ts'
import type { Branch } from './plan.ts'
import type { Meaning } from './predicate.ts'

/** How far a condition is taken apart. */
export interface BranchingLimits {
  /** Branches that an `&` may come to. */
  readonly combinations: number
  /** Tags that are put together to find all of these. */
  readonly combinedTags: number
}

interface Branches {
  readonly branches: readonly Branch[]
  /** Whether these are the selected events, and not also others. */
  readonly exact: boolean
}

/** From so many branches on it is worth looking for those that are within others before they are combined further. */
const simplifyFrom = 3

/** Takes a condition apart into branches. What would take too much work is selected more widely. */
export class Branching {
  readonly #meaning: Meaning
  readonly #limits: BranchingLimits
  readonly #pace: Pace
  #left: number

  constructor(meaning: Meaning, limits: BranchingLimits, pace: Pace) {
    this.#meaning = meaning
    this.#limits = limits
    this.#pace = pace
    this.#left = limits.combinedTags
  }

  *branchesOf(tags: TagExpr): Steps<Branches> {
    if (tags.kind !== 'chain') return { branches: [atomBranch(tags, this.#meaning)], exact: true }
    let branches: readonly Branch[] = [atomBranch(tags.first, this.#meaning)]
    let exact = true
    for (const { operator, operands } of runs(tags)) {
      const all = [branches]
      for (const operand of operands) {
        if (this.#pace.isDue()) yield
        if (operand.kind !== 'chain') all.push([atomBranch(operand, this.#meaning)])
        else {
          const other = yield* this.branchesOf(operand)
          exact &&= other.exact
          all.push(other.branches)
        }
      }
      if (operator === 'or') branches = all.flat()
      else {
        const product = yield* this.#inAll(all)
        branches = product.branches
        exact &&= product.exact
      }
    }
    return { branches, exact }
  }

  /** What is in all of them. Most are single branches, and thousands of those are no more work than one. */
  *#inAll(all: readonly (readonly Branch[])[]): Steps<Branches> {
    const single = intersection(all.filter((branches) => branches.length === 1).flat())
    if (single === undefined) return { branches: [], exact: true }
    const several = all.filter((branches) => branches.length !== 1)
    let branches: readonly Branch[] = [single]
    for (const others of several) {
      const product = yield* this.#allPairs(branches, others)
      if (product === undefined) {
        const fewest = several.reduce((least, other) => (other.length < least.length ? other : least))
        const widely = (yield* this.#allPairs([single], fewest)) ?? (single.tags.length > 0 ? [single] : fewest)
        return { branches: widely, exact: false }
      }
      branches = product
    }
    return { branches, exact: true }
  }

  /**
   * What is in both, unless that takes too many pairs. Without those that are within others: `(a | b) & (a | b)` is
   * `a | b` again, and would otherwise double with every `&`.
   */
  *#allPairs(left: readonly Branch[], right: readonly Branch[]): Steps<readonly Branch[] | undefined> {
    if (this.#left < 0) return undefined
    const most = this.#limits.combinations
    let [a, b] = [left, right]
    if (a.length * b.length > most) {
      a = yield* branchesWithoutSupersets(a, this.#pace)
      b = yield* branchesWithoutSupersets(b, this.#pace)
    }
    if (a.length * b.length > most) return undefined
    this.#left -= a.length * tagsIn(b) + b.length * tagsIn(a)
    if (this.#left < 0) return undefined
    const pairs: Branch[] = []
    for (const one of a) {
      for (const other of b) {
        const both = intersection([one, other])
        if (both !== undefined) pairs.push(both)
        if (this.#pace.isDue(1 + one.tags.length + other.tags.length)) yield
      }
    }
    return a.length > 1 && pairs.length >= simplifyFrom ? yield* branchesWithoutSupersets(pairs, this.#pace) : pairs
  }
}

function tagsIn(branches: readonly Branch[]): number {
  return branches.reduce((sum, { tags }) => sum + tags.length, branches.length)
}

/** The operands of a chain, those in a row with the same operator together. */
function runs({ rest }: TagChain): { operator: 'and' | 'or'; operands: TagExpr[] }[] {
  const found: { operator: 'and' | 'or'; operands: TagExpr[] }[] = []
  for (const { operator, operand } of rest) {
    const run = found.at(-1)
    if (run?.operator === operator) run.operands.push(operand)
    else found.push({ operator, operands: [operand] })
  }
  return found
}

export function atomBranch(atom: TagAtom, meaning: Meaning): Branch {
  switch (atom.kind) {
    case 'tag':
      return { tags: [atom.tag] }
    case 'template':
      return { tags: [meaning.tagOf(atom)] }
    case 'allEvents':
      return { tags: [] }
    case 'isLocal':
      return { tags: [], own: true }
    case 'appId':
      return { tags: [], appId: atom.appId === 'me' ? meaning.appId : atom.appId }
    case 'time':
      return { tags: [], time: timeRange(atom.comparison, atom.time) }
    case 'key':
      return { tags: [], key: keyRange(atom.comparison, atom.key) }
  }
}
