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
  const { branches, exact } = branchesOf(tags, meaning)
  const anyOf = withoutSupersets(branches)
  if (!exact) return { anyOf, residual: predicate(tags, meaning) }
  return { anyOf, residual: anyOf.some(({ key, time }) => key || time) ? isInOneOf(anyOf) : undefined }
}

interface Branches {
  readonly branches: readonly Branch[]
  /** Whether these are the selected events, and not also others. */
  readonly exact: boolean
}

function branchesOf(tags: TagExpr, meaning: Meaning): Branches {
  if (tags.kind !== 'chain') return { branches: [atomBranch(tags, meaning)], exact: true }
  let { branches, exact } = branchesOf(tags.first, meaning)
  for (const { operator, operands } of runs(tags)) {
    const others = operands.map((operand) => branchesOf(operand, meaning))
    exact &&= others.every((other) => other.exact)
    if (operator === 'or') branches = [branches, ...others.map((other) => other.branches)].flat()
    else {
      const product = inAll([branches, ...others.map((other) => other.branches)])
      branches = product.branches
      exact &&= product.exact
    }
  }
  return { branches, exact }
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

/** What is in all of them. Most are single branches, and thousands of those are no more work than one. */
function inAll(all: readonly (readonly Branch[])[]): Branches {
  const single = intersection(all.filter((branches) => branches.length === 1).flat())
  if (single === undefined) return { branches: [], exact: true }
  let branches: readonly Branch[] = [single]
  let exact = true
  for (const others of all) {
    if (others.length === 1) continue
    const product = allPairs(branches, others)
    branches = product.branches
    exact &&= product.exact
  }
  return { branches, exact }
}

/** What is in both; when that takes too many pairs, the smaller side alone has to do. */
function allPairs(left: readonly Branch[], right: readonly Branch[]): Branches {
  let [a, b] = [left, right]
  if (a.length * b.length > aqlLimits.tagCombinations) [a, b] = [withoutSupersets(a), withoutSupersets(b)]
  if (a.length * b.length > aqlLimits.tagCombinations) return { branches: a.length <= b.length ? a : b, exact: false }
  const branches: Branch[] = []
  for (const one of a) {
    for (const other of b) {
      const pair = intersection([one, other])
      if (pair !== undefined) branches.push(pair)
    }
  }
  return { branches, exact: true }
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
