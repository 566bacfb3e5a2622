import type { Order, TagAtom, TagExpr } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { planFor } from '../plan/tag-plan.ts'
import { Failure } from '../values/failure.ts'
import { textOf } from '../values/text.ts'
import { Aggregate } from './aggregate.ts'
import type { Code } from './code.ts'
import type { Frame } from './frame.ts'
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
  readonly templates: readonly { readonly atom: TagAtom; readonly code: Code }[]
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
  for (const code of stages.toReversed()) {
    first = code.open(frame, first)
    if (first instanceof Aggregate) aggregates.unshift(first)
  }
  return { first, aggregates }
}

/** The plan of a source whose templates are evaluated in the frame around it. */
export function* planOf({ tags, templates }: EventSource, around: Frame): Steps<Plan> {
  const names = new Map<TagAtom, string>()
  for (const { atom, code } of templates) {
    const value = code.quick ? code.run(around) : yield* code.run(around)
    const tag = textOf(value).normalize('NFC')
    if (tag === '') throw new Failure('Empty string is not permissible for Tag')
    names.set(atom, tag)
  }
  return planFor(tags, { appId: around.session.appId, tagOf: (atom) => names.get(atom) ?? '' })
}
