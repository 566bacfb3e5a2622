export type * from './ast.ts'
export { AqlError } from './error.ts'
export * from './eval/index.ts'
export {
  checkFeatures,
  type Endpoint,
  enabledFeatures,
  type Feature,
  type FeatureProblem,
  usedFeatures,
} from './features.ts'
export { type GivenEvent, givenEvents, parseEvents } from './given.ts'
export { aqlLimits } from './limits.ts'
export { type ParseOptions, parseExpr, parseQuery, parseTagExpr } from './parse.ts'
export { format, print, printExpr, printTagExpr } from './print/index.ts'
export { isAppId } from './text/app-id.ts'
