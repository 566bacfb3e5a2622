import type { TagAtom, TagExpr } from '../ast.ts'
import { aqlLimits } from '../language-limits.ts'
import { Pace, runToEnd, type Steps } from '../steps.ts'
import { removeSubsumedSteps } from './branches.ts'
import { atomBranch, Branching, type BranchingLimits } from './branching.ts'
import type { Plan } from './plan.ts'
import { isInOneOf, predicateOf, type TagContext } from './predicate.ts'

/** For a plan that is made once per query. */
export const limitsPerQuery: BranchingLimits = {
  combinations: aqlLimits.tagCombinations,
  combinedTags: aqlLimits.combinedTags,
}

/** For a plan that may be made again for every event. */
export const limitsPerEvent: BranchingLimits = {
  combinations: aqlLimits.tagCombinationsPerEvent,
  combinedTags: aqlLimits.combinedTagsPerEvent,
}

/** Atoms that take as long to evaluate as a query usually spends on one event. */
const atomsPerStep = 16

/** Plans a tag expression without yielding. */
export function planFor(tags: TagExpr, context: TagContext): Plan {
  return runToEnd(planSteps(tags, context, limitsPerQuery, new Pace()))
}

/** Plans a single tag, the most common source of sub-queries. */
export function planForAtom(atom: TagAtom, context: TagContext): Plan {
  return { anyOf: [atomBranch(atom, context)], residual: undefined }
}

/**
 * Plans a tag expression. Where it would need too many branches, the plan selects a superset and filters it with a
 * residual predicate.
 */
export function* planSteps(tags: TagExpr, context: TagContext, limits: BranchingLimits, pace: Pace): Steps<Plan> {
  if (tags.kind === 'tag' || tags.kind === 'template') return planForAtom(tags, context)
  const { branches, exact } = yield* new Branching(context, limits, pace).branchesOf(tags)
  const anyOf = yield* removeSubsumedSteps(branches, pace)
  if (!exact) {
    const { holds, atoms } = yield* predicateOf(tags, context, pace)
    return { anyOf, residual: holds, residualSteps: 1 + Math.floor(atoms / atomsPerStep) }
  }
  if (!anyOf.some(({ key, time }) => key || time)) return { anyOf, residual: undefined }
  return { anyOf, residual: isInOneOf(anyOf), residualSteps: 1 + Math.floor(anyOf.length / atomsPerStep) }
}
