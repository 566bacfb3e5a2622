import type { TagAtom, TagExpr } from '../ast.ts'
import type { Pace, Steps } from '../steps.ts'
import type { AqlEvent } from '../values/event.ts'
import { inKeyRange, inTimeRange, keyRange, timeRange } from './key-ranges.ts'
import type { Branch } from './plan.ts'

/** The request-dependent parts of a tag expression. */
export interface TagContext {
  /** The app that `appId(me)` stands for. */
  readonly appId: string
  /** The tag that a template was evaluated to. */
  tagOf(template: TagAtom): string
}

type Predicate = (event: AqlEvent) => boolean

/** Compiles a tag expression to a predicate, and counts its atoms. */
export function* predicateOf(
  tags: TagExpr,
  context: TagContext,
  pace: Pace,
): Steps<{ readonly holds: Predicate; readonly atoms: number }> {
  if (tags.kind !== 'chain') return { holds: atomPredicate(tags, context), atoms: 1 }
  const first = atomPredicate(tags.first, context)
  const rest: { readonly operator: 'and' | 'or'; readonly holds: Predicate }[] = []
  let atoms = 1
  for (const { operator, operand } of tags.rest) {
    if (pace.isDue()) yield
    const part = yield* predicateOf(operand, context, pace)
    rest.push({ operator, holds: part.holds })
    atoms += part.atoms
  }
  const holds = (event: AqlEvent): boolean => {
    let result = first(event)
    for (const { operator, holds } of rest)
      result = operator === 'and' ? result && holds(event) : result || holds(event)
    return result
  }
  return { holds, atoms }
}

function atomPredicate(atom: TagAtom, context: TagContext): Predicate {
  switch (atom.kind) {
    case 'tag':
      return ({ tags }) => tags.includes(atom.tag)
    case 'template': {
      const tag = context.tagOf(atom)
      return ({ tags }) => tags.includes(tag)
    }
    case 'allEvents':
      return () => true
    case 'isLocal':
      return ({ own }) => own
    case 'appId': {
      const wanted = atom.appId === 'me' ? context.appId : atom.appId
      return ({ appId }) => appId === wanted
    }
    case 'time': {
      const range = timeRange(atom.comparison, atom.time)
      return ({ time }) => inTimeRange(range, time)
    }
    case 'key': {
      const range = keyRange(atom.comparison, atom.key)
      return (event) => inKeyRange(range, event)
    }
  }
}

/** The residual predicate of exact branches. The index has already matched everything but keys and times. */
export function isInOneOf(branches: readonly Branch[]): Predicate {
  const [first, ...others] = branches
  if (first === undefined) return () => false
  const { key, time } = first
  if (others.every((other) => other.key === key && other.time === time)) return (event) => inRanges(first, event)
  return (event) => branches.some((branch) => inRanges(branch, event) && isOfBranch(branch, event))
}

function inRanges({ key, time }: Branch, event: AqlEvent): boolean {
  return (time === undefined || inTimeRange(time, event.time)) && (key === undefined || inKeyRange(key, event))
}

/** Whether an event matches the indexed conditions of a branch: tags, app and node. */
export function isOfBranch({ tags, appId, own }: Branch, event: AqlEvent): boolean {
  if (own && !event.own) return false
  if (appId !== undefined && appId !== event.appId) return false
  return tags.length === 0 || tags.every((tag) => event.tags.includes(tag))
}
