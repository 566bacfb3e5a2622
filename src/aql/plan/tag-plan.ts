import type { TagAtom, TagExpr } from '../ast.ts'
import { aqlLimits } from '../language-limits.ts'
import { finish, Pace, type Steps } from '../steps.ts'
import { branchesWithoutSupersets } from './branches.ts'
import { atomBranch, Branching, type BranchingLimits } from './branching.ts'
import type { Plan } from './plan.ts'
import { isInOneOf, type Meaning, predicateOf } from './predicate.ts'

/** Limits of a plan that is made once for a query. */
export const madeOnce: BranchingLimits = {
  combinations: aqlLimits.tagCombinations,
  combinedTags: aqlLimits.combinedTags,
}

/** Limits of a plan that may be made again for every event. */
export const madeAgain: BranchingLimits = {
  combinations: aqlLimits.tagCombinationsPerEvent,
  combinedTags: aqlLimits.combinedTagsPerEvent,
}

/** Atoms of a condition whose evaluation takes as long as a query usually spends on one event. */
const atomsPerStep = 16

/** The plan for a condition, made in one go. */
export function planFor(tags: TagExpr, meaning: Meaning): Plan {
  return finish(planSteps(tags, meaning, madeOnce, new Pace()))
}

/** The plan for a single tag, the most common condition of nested queries. */
export function planForAtom(atom: TagAtom, meaning: Meaning): Plan {
  return { anyOf: [atomBranch(atom, meaning)], residual: undefined }
}

/** The plan for a condition. What would take too many branches is selected more widely, and then looked at one by one. */
export function* planSteps(tags: TagExpr, meaning: Meaning, limits: BranchingLimits, pace: Pace): Steps<Plan> {
  if (tags.kind === 'tag' || tags.kind === 'template') return planForAtom(tags, meaning)
  const { branches, exact } = yield* new Branching(meaning, limits, pace).branchesOf(tags)
  const anyOf = yield* branchesWithoutSupersets(branches, pace)
  if (!exact) {
    const { holds, atoms } = yield* predicateOf(tags, meaning, pace)
    return { anyOf, residual: holds, residualSteps: 1 + Math.floor(atoms / atomsPerStep) }
  }
  if (!anyOf.some(({ key, time }) => key || time)) return { anyOf, residual: undefined }
  return { anyOf, residual: isInOneOf(anyOf), residualSteps: 1 + Math.floor(anyOf.length / atomsPerStep) }
}
