export type * from './ast.ts'
export { AqlError } from './error.ts'
export * from './eval/index.ts'
export {
  checkFeatures,
  type Endpoint,
  enabledFeatures,
  type Feature,
  type FeatureProblem,
  featureProblem,
  featuresUsed,
  usedFeatures,
} from './features.ts'
export { type InlineEvent, inlineEventSteps, inlineEvents, parseEvents } from './inline-events.ts'
export { aqlLimits } from './language-limits.ts'
export { type ParseOptions, parseExpr, parseQuery, parseSteps, parseTagExpr } from './parse.ts'
export { format, print, printExpr, printSteps, printTagExpr } from './print/index.ts'
export { isAppId } from './text/app-id.ts'
export { readsEvents } from './walk.ts'
