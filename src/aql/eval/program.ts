import type { Order, TagAtom, TagExpr } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import type { TagContext } from '../plan/predicate.ts'
import { limitsPerEvent, limitsPerQuery, planForAtom, planSteps } from '../plan/tag-plan.ts'
import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { textOf } from '../values/text.ts'
import type { Value } from '../values/value.ts'
import { Aggregate } from './aggregate.ts'
import type { Code } from './code.ts'
import type { ItemCode } from './items.ts'
import { Emission, type Stage, type StageCode } from './stage.ts'
import type { Frame, Session } from './variable-frame.ts'

/** A compiled query. It is stateless and re-entrant. */
export interface Program {
  readonly source: EventSource | ArraySource
  readonly stages: readonly StageCode[]
  /** Number of frame slots: variables and intermediate results. */
  readonly slots: number
  /** The slot of the results. */
  readonly result: number
  /** Whether no stage has a sub-query. */
  readonly sync: boolean
  /** The order given by the query, or the one in which it can stop early. */
  readonly order: Order | undefined
  /** Cost of one event in steps of a time slice, proportional to the number of AST nodes. */
  readonly stepsPerEvent: number
}

export interface EventSource {
  readonly kind: 'events'
  readonly tags: TagExpr
  /** Compiled tag templates. */
  readonly templates: readonly Code[]
  /** The index in `templates` of a template atom. */
  readonly templateIndexes: ReadonlyMap<TagAtom, number>
}

export interface ArraySource {
  readonly kind: 'array'
  readonly items: readonly ItemCode[]
}

/** The stages of a running query. */
export interface Pipeline {
  readonly first: Stage
  readonly aggregates: readonly Aggregate[]
}

export function openStages({ stages, result }: Program, frame: Frame): Pipeline {
  const aggregates: Aggregate[] = []
  let first: Stage = new Emission(frame, result)
  for (let at = stages.length - 1; at >= 0; at--) {
    first = (stages[at] as StageCode).open(frame, first)
    if (first instanceof Aggregate) aggregates.unshift(first)
  }
  frame.settledByFirst = aggregates.some(({ isConstant }) => isConstant)
  return { first, aggregates }
}

/** The plan of a source if it is cached or trivial, without a generator; `undefined` when it has to be made. */
export function immediatePlanOf(source: EventSource, outer: Frame): Plan | undefined {
  const { tags, templates } = source
  if (templates.length === 0) return outer.session.plans.get(source)?.plan
  const [code] = templates
  if (tags.kind !== 'template' || code === undefined || !code.sync) return undefined
  return planForAtom(tags, tagContextOf(source, [tagOf(code.run(outer))], outer.session))
}

/** Plans a source. Its templates are evaluated in the outer frame. */
export function* planOf(source: EventSource, outer: Frame): Steps<Plan> {
  const { session } = outer
  const { plans, pace } = session
  const tags: string[] = []
  let length = 0
  for (const code of source.templates) {
    const tag = tagOf(code.sync ? code.run(outer) : yield* code.run(outer))
    tags.push(tag)
    length += tag.length
    if (pace.isDue()) yield
  }
  const known = plans.get(source)
  if (known?.tags.every((tag, at) => tag === tags[at])) return known.plan
  // A sub-query with templates may be planned once per event.
  const isRepeated = source.templates.length > 0 && outer.outer !== undefined
  const plan = yield* planSteps(
    source.tags,
    tagContextOf(source, tags, session),
    isRepeated ? limitsPerEvent : limitsPerQuery,
    pace,
  )
  if (length <= maxCachedTagLength) plans.set(source, { tags, plan })
  return plan
}

/** Total length of tags up to which a plan is cached for the next event. */
const maxCachedTagLength = 64 * 1024

function tagOf(value: Value): string {
  const text = textOf(value)
  const tag = beyondAscii.test(text) ? text.normalize('NFC') : text
  if (tag === '') throw new Failure('Empty string is not permissible for Tag')
  return tag
}

/** ASCII is normalised already, and this test is faster than `normalize`. */
const beyondAscii = /[\u0080-\uffff]/

function tagContextOf({ templateIndexes }: EventSource, values: readonly string[], { appId }: Session): TagContext {
  return { appId, tagOf: (atom) => values[templateIndexes.get(atom) ?? -1] ?? '' }
}
