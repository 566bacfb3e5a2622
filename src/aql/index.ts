export type * from './ast.ts'
export { AqlError } from './error.ts'
export { aqlLimits } from './limits.ts'
export { type ParseOptions, parseExpr, parseQuery, parseTagExpr } from './parse.ts'
