import type { Order } from '../ast.ts'
import type { Aggregate } from './aggregate.ts'
import type { Frame } from './frame.ts'
import { foundBy } from './items.ts'
import { type Cursor, later } from './port.ts'
import {
  type ArraySource,
  type EventSource,
  openStages,
  type Pipeline,
  type Program,
  planOf,
  quickPlanOf,
} from './program.ts'
import type { Steps } from './steps.ts'

/**
 * Feeds a source through the stages to its end, or until nothing that comes can matter. `around` is the frame in which
 * the source is evaluated. Throws what is wrong with the source; what goes wrong in a stage goes to the output.
 */
export function drive(program: Program, frame: Frame, around: Frame, order: Order): Steps<void> {
  const pipeline = openStages(program, frame)
  const { source } = program
  if (source.kind === 'array') return feedItems(source, frame, around, pipeline)
  return feedEvents(source, frame, around, pipeline, order)
}

function* feedEvents(
  source: EventSource,
  frame: Frame,
  around: Frame,
  { first, aggregates }: Pipeline,
  order: Order,
): Steps<void> {
  const { session } = frame
  const plan = source.quick ? quickPlanOf(source, around) : yield* planOf(source, around)
  const cursor: Cursor = session.events.open(plan, order)
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
}

function* feedItems({ items }: ArraySource, frame: Frame, around: Frame, { first, aggregates }: Pipeline): Steps<void> {
  const { allowance } = frame.session
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
      if (frame.session.step()) yield
    }
    allowance.leave(spent, held)
  }
  if (aggregates.length > 0) yield* flush(aggregates)
}

/** Lets every aggregate say what it has come to, the first ones first: what they say is input of those after them. */
function* flush(aggregates: readonly Aggregate[]): Steps<void> {
  for (const aggregate of aggregates) {
    if (aggregate.flushesBriefly) aggregate.flush()
    else yield* aggregate.flushSlowly()
  }
}
