export type * from './ast.ts'
export { AqlError } from './error.ts'
export { eventsOfStream, MemoryEvents } from './eval/memory-events.ts'
export { MessageWriter, type Severity, type Sink } from './eval/messages.ts'
export { type PlainQuery, plainQuery } from './eval/plain.ts'
export { type Cursor, type Events, later, type Turn } from './eval/port.ts'
export { answer } from './eval/query.ts'
export type { Steps } from './eval/steps.ts'
export { Subscription } from './eval/subscription.ts'
export {
  checkFeatures,
  type Endpoint,
  enabledFeatures,
  type Feature,
  type FeatureProblem,
  usedFeatures,
} from './features.ts'
export { type GivenEvent, givenEvents } from './given.ts'
export { aqlLimits } from './limits.ts'
export { type ParseOptions, parseExpr, parseQuery, parseTagExpr } from './parse.ts'
export type { Branch, Plan } from './plan/plan.ts'
export { format, print, printExpr, printTagExpr } from './print/index.ts'
export { isAppId } from './text/app-id.ts'
export { type AqlEvent, comparePlaces, type EventStream, type Place } from './values/event.ts'
export { Failure } from './values/failure.ts'
export type { Metadata } from './values/metadata.ts'
export type { Value } from './values/value.ts'
