import type { Order } from '../ast.ts'
import type { Steps } from '../steps.ts'
import type { Aggregate } from './aggregate.ts'
import { type Cursor, notReady } from './event-provider.ts'
import { evaluateItem } from './items.ts'
import {
  type ArraySource,
  type EventSource,
  immediatePlanOf,
  openStages,
  type Pipeline,
  type Program,
  planOf,
} from './program.ts'
import type { Frame } from './variable-frame.ts'

/** Fixed cost of opening a cursor, in units of work. */
const unitsToOpen = 16

/**
 * Runs a pipeline: feeds the source through the stages until it ends or the result is settled. `outer` is the frame in
 * which the source is evaluated. Throws failures of the source; failures of stages go to the output.
 */
export function drive<T>(program: Program, frame: Frame, outer: Frame, order: Order, end: Completion<T>): Steps<T> {
  const pipeline = openStages(program, frame)
  const { source } = program
  if (source.kind === 'array') return feedItems(source, frame, outer, pipeline, end)
  return feedEvents(source, frame, outer, pipeline, order, end)
}

/**
 * The callbacks at the end of a run. They are called in here, because another generator around this one would double
 * the cost of sub-queries.
 */
export interface Completion<T> {
  /** Always called, also after a failure. */
  close(): void
  /** Called when the source is exhausted or the result is settled. */
  outcome(): T
}

function* feedEvents<T>(
  source: EventSource,
  frame: Frame,
  outer: Frame,
  { first, aggregates }: Pipeline,
  order: Order,
  end: Completion<T>,
): Steps<T> {
  const { session } = frame
  try {
    const plan = immediatePlanOf(source, outer) ?? (yield* planOf(source, outer))
    const cursor: Cursor = session.events.open(plan, order)
    if (session.pace.isDue(unitsToOpen + plan.anyOf.length)) yield
    try {
      while (!frame.done) {
        const event = cursor.next()
        if (event === undefined) break
        if (event === notReady) {
          yield
          continue
        }
        frame.setEvent(event)
        if (first.bounded) first.feed(false)
        else yield* first.feedInSteps(false)
        if (session.step()) yield
      }
    } finally {
      cursor.close()
    }
    if (aggregates.length > 0) yield* flush(aggregates)
  } finally {
    end.close()
  }
  return end.outcome()
}

function* feedItems<T>(
  { items }: ArraySource,
  frame: Frame,
  outer: Frame,
  { first, aggregates }: Pipeline,
  end: Completion<T>,
): Steps<T> {
  const { session } = frame
  const { allowance } = session
  try {
    for (const item of items) {
      if (frame.done) break
      const found = yield* evaluateItem(item, outer)
      const { spent, held } = allowance
      allowance.enter()
      for (const { value, metadata } of found) {
        if (frame.done) break
        frame.setItem(value, metadata)
        if (first.bounded) first.feed(false)
        else yield* first.feedInSteps(false)
        if (session.step()) yield
      }
      allowance.leave(spent, held)
    }
    if (aggregates.length > 0) yield* flush(aggregates)
  } finally {
    end.close()
  }
  return end.outcome()
}

/** Flushes the aggregates in stage order, because the result of one is input of the next. */
function* flush(aggregates: readonly Aggregate[]): Steps<void> {
  for (const aggregate of aggregates) {
    if (aggregate.flushIsBounded) aggregate.flush()
    else yield* aggregate.flushInSteps()
  }
}
