import type { Order, TagAtom, TagExpr } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import type { Meaning } from '../plan/predicate.ts'
import { madeAgain, madeOnce, planForAtom, planSteps } from '../plan/tag-plan.ts'
import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { textOf } from '../values/text.ts'
import type { Value } from '../values/value.ts'
import { Aggregate } from './aggregate.ts'
import type { Code } from './code.ts'
import type { ItemCode } from './items.ts'
import { Emission, type Stage, type StageCode } from './stage.ts'
import type { Frame, Session } from './variable-frame.ts'

/** A compiled query. It holds no state, so it can run many times, also within itself. */
export interface Program {
  readonly source: EventSource | ArraySource
  readonly stages: readonly StageCode[]
  /** Variables, and what else has to be remembered from stage to stage. */
  readonly slots: number
  /** The slot where the results stand. */
  readonly result: number
  /** Whether no stage has a sub-query. */
  readonly quick: boolean
  /** The order that the text asks for, or in which it can stop early. */
  readonly order: Order | undefined
  /** How much work one event is, in steps of a turn: as much as there is text to be evaluated. */
  readonly stepsPerEvent: number
}

export interface EventSource {
  readonly kind: 'events'
  readonly tags: TagExpr
  /** What computes the tags that stand there as templates. */
  readonly templates: readonly Code[]
  /** Which of the templates an atom is. */
  readonly places: ReadonlyMap<TagAtom, number>
}

export interface ArraySource {
  readonly kind: 'array'
  readonly items: readonly ItemCode[]
}

/** The stages of a run. */
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

/** The plan of a source that is known already, or is that of a single tag; nothing when it takes longer to make it. */
export function quickPlanOf(source: EventSource, around: Frame): Plan | undefined {
  const { tags, templates } = source
  if (templates.length === 0) return around.session.plans.get(source)?.plan
  const [code] = templates
  if (tags.kind !== 'template' || code === undefined || !code.quick) return undefined
  return planForAtom(tags, meaningOf(source, [tagOf(code.run(around))], around.session))
}

/** The plan of a source whose templates are evaluated in the frame around it. */
export function* planOf(source: EventSource, around: Frame): Steps<Plan> {
  const { session } = around
  const { plans, pace } = session
  const tags: string[] = []
  let length = 0
  for (const code of source.templates) {
    const tag = tagOf(code.quick ? code.run(around) : yield* code.run(around))
    tags.push(tag)
    length += tag.length
    if (pace.isDue()) yield
  }
  const known = plans.get(source)
  if (known?.tags.every((tag, at) => tag === tags[at])) return known.plan
  // Only the outermost query is sure to be planned once.
  const isRepeated = source.templates.length > 0 && around.outer !== undefined
  const plan = yield* planSteps(source.tags, meaningOf(source, tags, session), isRepeated ? madeAgain : madeOnce, pace)
  if (length <= longestKept) plans.set(source, { tags, plan })
  return plan
}

/** Characters of the tags of a plan that is kept for the next event. */
const longestKept = 64 * 1024

function tagOf(value: Value): string {
  const text = textOf(value)
  const tag = beyondAscii.test(text) ? text.normalize('NFC') : text
  if (tag === '') throw new Failure('Empty string is not permissible for Tag')
  return tag
}

/** Other texts are normalised already, and finding out is quicker than doing it. */
const beyondAscii = /[\u0080-\uffff]/

function meaningOf({ places }: EventSource, values: readonly string[], { appId }: Session): Meaning {
  return { appId, tagOf: (atom) => values[places.get(atom) ?? -1] ?? '' }
}
