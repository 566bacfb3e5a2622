import type { TagAtom, TagChain, TagExpr } from '../ast.ts'
import { aqlLimits } from '../limits.ts'
import { intersection, withoutSupersets } from './branches.ts'
import type { Branch, Plan } from './plan.ts'
import { isInOneOf, type Meaning, predicate } from './predicate.ts'
import { keyRange, timeRange } from './ranges.ts'

/** The plan for a condition. What would take too many branches is selected more widely, and then looked at one by one. */
export function planFor(tags: TagExpr, meaning: Meaning): Plan {
  // The most common condition of nested queries, which are planned again for every event.
  if (tags.kind === 'tag' || tags.kind === 'template')
    return { anyOf: [atomBranch(tags, meaning)], residual: undefined }
  const { branches, exact } = new Branching(meaning).branchesOf(tags)
  const anyOf = withoutSupersets(branches)
  if (!exact) return { anyOf, residual: predicate(tags, meaning) }
  return { anyOf, residual: anyOf.some(({ key, time }) => key || time) ? isInOneOf(anyOf) : undefined }
}

interface Branches {
  readonly branches: readonly Branch[]
  /** Whether these are the selected events, and not also others. */
  readonly exact: boolean
}

/** Takes a condition apart into branches. What would take too much work is selected more widely. */
class Branching {
  readonly #meaning: Meaning
  #left: number = aqlLimits.combinedTags

  constructor(meaning: Meaning) {
    this.#meaning = meaning
  }

  branchesOf(tags: TagExpr): Branches {
    if (tags.kind !== 'chain') return { branches: [atomBranch(tags, this.#meaning)], exact: true }
    let { branches, exact } = this.branchesOf(tags.first)
    for (const { operator, operands } of runs(tags)) {
      const others = operands.map((operand) => this.branchesOf(operand))
      exact &&= others.every((other) => other.exact)
      const all = [branches, ...others.map((other) => other.branches)]
      if (operator === 'or') branches = all.flat()
      else {
        const product = this.#inAll(all)
        branches = product.branches
        exact &&= product.exact
      }
    }
    return { branches, exact }
  }

  /** What is in all of them. Most are single branches, and thousands of those are no more work than one. */
  #inAll(all: readonly (readonly Branch[])[]): Branches {
    const single = intersection(all.filter((branches) => branches.length === 1).flat())
    if (single === undefined) return { branches: [], exact: true }
    const several = all.filter((branches) => branches.length !== 1)
    let branches: readonly Branch[] = [single]
    for (const others of several) {
      const product = this.#allPairs(branches, others)
      if (product === undefined) {
        const fewest = several.reduce((least, other) => (other.length < least.length ? other : least))
        const widely = this.#allPairs([single], fewest) ?? (single.tags.length > 0 ? [single] : fewest)
        return { branches: widely, exact: false }
      }
      branches = product
    }
    return { branches, exact: true }
  }

  /** What is in both, unless that takes too many pairs. */
  #allPairs(left: readonly Branch[], right: readonly Branch[]): readonly Branch[] | undefined {
    if (this.#left < 0) return undefined
    let [a, b] = [left, right]
    if (a.length * b.length > aqlLimits.tagCombinations) [a, b] = [withoutSupersets(a), withoutSupersets(b)]
    if (a.length * b.length > aqlLimits.tagCombinations) return undefined
    this.#left -= a.length * tagsIn(b) + b.length * tagsIn(a)
    if (this.#left < 0) return undefined
    return a.flatMap((one) => b.flatMap((other) => intersection([one, other]) ?? []))
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

function atomBranch(atom: TagAtom, meaning: Meaning): Branch {
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
