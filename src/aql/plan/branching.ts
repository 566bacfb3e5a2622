import type { TagAtom, TagChain, TagExpr } from '../ast.ts'
import type { Pace, Steps } from '../steps.ts'
import { intersection, removeSubsumedSteps } from './branches.ts'
import { keyRange, timeRange } from './key-ranges.ts'
import type { Branch } from './plan.ts'
import type { TagContext } from './predicate.ts'

/** Bounds the size of the disjunctive normal form. */
export interface BranchingLimits {
  /** Branches that the cross product of an `&` may have. */
  readonly combinations: number
  /** Tags combined in all cross products together. */
  readonly combinedTags: number
}

interface Branches {
  readonly branches: readonly Branch[]
  /** Whether the branches select exactly the events of the expression, and not a superset. */
  readonly exact: boolean
}

/** Number of branches from which absorption pays off before they are combined further. */
const simplifyFrom = 3

/**
 * Converts a tag expression to disjunctive normal form: a union of branches. Where that would exceed the limits, it
 * selects a superset.
 */
export class Branching {
  readonly #context: TagContext
  readonly #limits: BranchingLimits
  readonly #pace: Pace
  #left: number

  constructor(context: TagContext, limits: BranchingLimits, pace: Pace) {
    this.#context = context
    this.#limits = limits
    this.#pace = pace
    this.#left = limits.combinedTags
  }

  *branchesOf(tags: TagExpr): Steps<Branches> {
    if (tags.kind !== 'chain') return { branches: [atomBranch(tags, this.#context)], exact: true }
    let branches: readonly Branch[] = [atomBranch(tags.first, this.#context)]
    let exact = true
    for (const { operator, operands } of runs(tags)) {
      const all = [branches]
      for (const operand of operands) {
        if (this.#pace.isDue()) yield
        if (operand.kind !== 'chain') all.push([atomBranch(operand, this.#context)])
        else {
          const other = yield* this.branchesOf(operand)
          exact &&= other.exact
          all.push(other.branches)
        }
      }
      if (operator === 'or') branches = all.flat()
      else {
        const product = yield* this.#conjunction(all)
        branches = product.branches
        exact &&= product.exact
      }
    }
    return { branches, exact }
  }

  /** The conjunction of all operands. Most have a single branch, and thousands of those are merged in one pass. */
  *#conjunction(all: readonly (readonly Branch[])[]): Steps<Branches> {
    const single = intersection(all.filter((branches) => branches.length === 1).flat())
    if (single === undefined) return { branches: [], exact: true }
    const several = all.filter((branches) => branches.length !== 1)
    let branches: readonly Branch[] = [single]
    for (const others of several) {
      const product = yield* this.#crossProduct(branches, others)
      if (product === undefined) {
        const fewest = several.reduce((least, other) => (other.length < least.length ? other : least))
        const superset = (yield* this.#crossProduct([single], fewest)) ?? (single.tags.length > 0 ? [single] : fewest)
        return { branches: superset, exact: false }
      }
      branches = product
    }
    return { branches, exact: true }
  }

  /**
   * The cross product of two operands; `undefined` when it exceeds the limits. Subsumed branches are removed, because
   * `(a | b) & (a | b)` is `a | b` again and would otherwise double with every `&`.
   */
  *#crossProduct(left: readonly Branch[], right: readonly Branch[]): Steps<readonly Branch[] | undefined> {
    if (this.#left < 0) return undefined
    const limit = this.#limits.combinations
    let [a, b] = [left, right]
    if (a.length * b.length > limit) {
      a = yield* removeSubsumedSteps(a, this.#pace)
      b = yield* removeSubsumedSteps(b, this.#pace)
    }
    if (a.length * b.length > limit) return undefined
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
    return a.length > 1 && pairs.length >= simplifyFrom ? yield* removeSubsumedSteps(pairs, this.#pace) : pairs
  }
}

function tagsIn(branches: readonly Branch[]): number {
  return branches.reduce((sum, { tags }) => sum + tags.length, branches.length)
}

/** Groups the operands of a chain into runs of the same operator. */
function runs({ rest }: TagChain): { operator: 'and' | 'or'; operands: TagExpr[] }[] {
  const found: { operator: 'and' | 'or'; operands: TagExpr[] }[] = []
  for (const { operator, operand } of rest) {
    const run = found.at(-1)
    if (run?.operator === operator) run.operands.push(operand)
    else found.push({ operator, operands: [operand] })
  }
  return found
}

export function atomBranch(atom: TagAtom, context: TagContext): Branch {
  switch (atom.kind) {
    case 'tag':
      return { tags: [atom.tag] }
    case 'template':
      return { tags: [context.tagOf(atom)] }
    case 'allEvents':
      return { tags: [] }
    case 'isLocal':
      return { tags: [], own: true }
    case 'appId':
      return { tags: [], appId: atom.appId === 'me' ? context.appId : atom.appId }
    case 'time':
      return { tags: [], time: timeRange(atom.comparison, atom.time) }
    case 'key':
      return { tags: [], key: keyRange(atom.comparison, atom.key) }
  }
}
