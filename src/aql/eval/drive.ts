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
export function drive(program: Program, frame: Frame, around: Frame, order: Order): Steps<void> {
  const run = { frame, around, pipeline: openStages(program, frame), quick: program.brief }
  return program.source.kind === 'array' ? feedItems(program.source, run) : feedEvents(program.source, run, order)
}

interface Run {
  readonly frame: Frame
  readonly around: Frame
  readonly pipeline: Pipeline
  /** Whether a pass need not give way. */
  readonly quick: boolean
}

function* feedEvents(source: EventSource, { frame, around, pipeline, quick }: Run, order: Order): Steps<void> {
  const { session } = frame
  const { first } = pipeline
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
  if (quick) flush(pipeline)
  else yield* flushSlowly(pipeline)
}

function* feedItems({ items }: ArraySource, { frame, around, pipeline, quick }: Run): Steps<void> {
  const { first } = pipeline
  for (const item of items) {
    if (frame.done) break
    for (const { value, metadata } of yield* foundBy(item, around)) {
      if (frame.done) break
      frame.setItem(value, metadata)
      if (quick) first.feed(false)
      else yield* first.feedSlowly(false)
      if (frame.session.step()) yield
    }
  }
  if (quick) flush(pipeline)
  else yield* flushSlowly(pipeline)
}

/** Lets every aggregate say what it has come to, the first ones first: what they say is input of those after them. */
function flush({ aggregates }: Pipeline): void {
  for (const aggregate of aggregates) aggregate.flush()
}

function* flushSlowly({ aggregates }: Pipeline): Steps<void> {
  for (const aggregate of aggregates) yield* aggregate.flushSlowly()
}
