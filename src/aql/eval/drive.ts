import type { Order } from '../ast.ts'
import type { Steps } from '../steps.ts'
import type { Aggregate } from './aggregate.ts'
import { type Cursor, later } from './event-source.ts'
import { foundBy } from './items.ts'
import {
  type ArraySource,
  type EventSource,
  openStages,
  type Pipeline,
  type Program,
  planOf,
  quickPlanOf,
} from './program.ts'
import type { Frame } from './variable-frame.ts'

/** Units of work that opening a cursor takes, whatever its plan is. */
const unitsToOpen = 16

/**
 * Feeds a source through the stages to its end, or until nothing that comes can matter. `around` is the frame in which
 * the source is evaluated. Throws what is wrong with the source; what goes wrong in a stage goes to the output.
 */
export function drive<T>(program: Program, frame: Frame, around: Frame, order: Order, end: End<T>): Steps<T> {
  const pipeline = openStages(program, frame)
  const { source } = program
  if (source.kind === 'array') return feedItems(source, frame, around, pipeline, end)
  return feedEvents(source, frame, around, pipeline, order, end)
}

/** What a run comes to. It ends in here, since a generator around this one would cost nested queries as much again. */
export interface End<T> {
  /** Always called, also when something went wrong. */
  close(): void
  /** Called when all has come. */
  outcome(): T
}

function* feedEvents<T>(
  source: EventSource,
  frame: Frame,
  around: Frame,
  { first, aggregates }: Pipeline,
  order: Order,
  end: End<T>,
): Steps<T> {
  const { session } = frame
  try {
    const plan = quickPlanOf(source, around) ?? (yield* planOf(source, around))
    const cursor: Cursor = session.events.open(plan, order)
    if (session.pace.isDue(unitsToOpen + plan.anyOf.length)) yield
    try {
      while (!frame.done) {
        const event = cursor.next()
        if (event === undefined) break
        if (event === later) {
          yield
          continue
        }
        frame.setEvent(event)
        if (first.brief) first.feed(false)
        else yield* first.feedSlowly(false)
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
  around: Frame,
  { first, aggregates }: Pipeline,
  end: End<T>,
): Steps<T> {
  const { session } = frame
  const { allowance } = session
  try {
    for (const item of items) {
      if (frame.done) break
      const found = yield* foundBy(item, around)
      const { spent, held } = allowance
      allowance.enter()
      for (const { value, metadata } of found) {
        if (frame.done) break
        frame.setItem(value, metadata)
        if (first.brief) first.feed(false)
        else yield* first.feedSlowly(false)
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

/** Lets every aggregate say what it has come to, the first ones first: what they say is input of those after them. */
function* flush(aggregates: readonly Aggregate[]): Steps<void> {
  for (const aggregate of aggregates) {
    if (aggregate.flushesBriefly) aggregate.flush()
    else yield* aggregate.flushSlowly()
  }
}
