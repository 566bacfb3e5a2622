import type { Order, TagAtom, TagExpr } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { planFor } from '../plan/tag-plan.ts'
import { Failure } from '../values/failure.ts'
import { textOf } from '../values/text.ts'
import type { Value } from '../values/value.ts'
import { Aggregate } from './aggregate.ts'
import { type Code, quickly } from './code.ts'
import type { Frame, Session } from './frame.ts'
import type { ItemCode } from './items.ts'
import { Emission, type Stage, type StageCode } from './stage.ts'
import type { Steps } from './steps.ts'

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
}

export interface EventSource {
  readonly kind: 'events'
  readonly tags: TagExpr
  /** What computes the tags that stand there as templates. */
  readonly templates: readonly Code[]
  /** Which of the templates an atom is. */
  readonly places: ReadonlyMap<TagAtom, number>
  /** Whether no template has a query in it. */
  readonly quick: boolean
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

/** The plan of a source whose templates are evaluated in the frame around it. */
export function* planOf(source: EventSource, around: Frame): Steps<Plan> {
  const tags: string[] = []
  for (const code of source.templates) tags.push(tagOf(code.quick ? code.run(around) : yield* code.run(around)))
  return planWith(source, tags, around.session)
}

/** The same for a source without a query in its templates. */
export function quickPlanOf(source: EventSource, around: Frame): Plan {
  if (source.templates.length > 0) {
    const tags = source.templates.map((code) => tagOf(quickly(code, around)))
    return planWith(source, tags, around.session)
  }
  const plan = around.session.plans.get(source) ?? planWith(source, [], around.session)
  around.session.plans.set(source, plan)
  return plan
}

function tagOf(value: Value): string {
  const text = textOf(value)
  const tag = beyondAscii.test(text) ? text.normalize('NFC') : text
  if (tag === '') throw new Failure('Empty string is not permissible for Tag')
  return tag
}

/** Other texts are normalised already, and finding out is quicker than doing it. */
const beyondAscii = /[\u0080-\uffff]/

function planWith({ tags, places }: EventSource, values: readonly string[], { appId }: Session): Plan {
  return planFor(tags, { appId, tagOf: (atom) => values[places.get(atom) ?? -1] ?? '' })
}
