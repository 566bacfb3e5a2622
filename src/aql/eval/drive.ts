import type { Order } from '../ast.ts'
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
export function* drive(program: Program, frame: Frame, around: Frame, order: Order): Steps<void> {
  const pipeline = openStages(program, frame)
  const { source, quick } = program
  if (source.kind === 'array') yield* feedItems(source, frame, around, pipeline, quick)
  else yield* feedEvents(source, frame, around, pipeline, quick, order)
  for (const aggregate of pipeline.aggregates) {
    if (quick) aggregate.flush()
    else yield* aggregate.flushSlowly()
  }
}

function* feedEvents(
  source: EventSource,
  frame: Frame,
  around: Frame,
  { first }: Pipeline,
  quick: boolean,
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
      if (quick) first.feed(false)
      else yield* first.feedSlowly(false)
      if (session.step()) yield
    }
  } finally {
    cursor.close()
  }
}

function* feedItems(
  { items }: ArraySource,
  frame: Frame,
  around: Frame,
  { first }: Pipeline,
  quick: boolean,
): Steps<void> {
  for (const item of items) {
    for (const { value, metadata } of yield* foundBy(item, around)) {
      if (frame.done) return
      frame.set(0, value, metadata)
      if (quick) first.feed(false)
      else yield* first.feedSlowly(false)
      if (frame.session.step()) yield
    }
    if (frame.done) return
  }
}
