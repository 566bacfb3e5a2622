import type { Expr, MainQuery, Micros, TagExpr } from './ast.ts'
import { misplaced } from './check.ts'
import { AqlError } from './error.ts'
import { Pace, runToEnd, type Steps } from './steps.ts'
import { QueryRules } from './text/queries.ts'
import { Reader } from './text/text-reader.ts'

export interface ParseOptions {
  /** The reference time of `7s ago`. */
  readonly now: Micros
}

/** Parses a query and runs the static checks. Throws an AqlError if one fails. */
export function parseQuery(text: string, { now }: ParseOptions): MainQuery {
  return readQuery(new Reader(text), now)
}

/** Cooperative variant: yields between units of work. */
export function parseSteps(text: string, { now }: ParseOptions): Steps<MainQuery> {
  return readSteps(new Reader(text), now)
}

/** Parses a query from a reader, which counts the work done. */
export function readQuery(reader: Reader, now: Micros): MainQuery {
  return runToEnd(readSteps(reader, now))
}

/** Cooperative variant: yields between units of work. */
export function* readSteps(reader: Reader, now: Micros): Steps<MainQuery> {
  const rules = new QueryRules(reader, now)
  const query = yield* rules.mainQuerySteps()
  if (query === undefined) throw reader.syntaxError()
  const found = yield* misplaced(query, new Pace())
  const position = (found && rules.positions.get(found.part)) ?? reader.text.length
  if (rules.fault !== undefined && rules.fault.position <= position) throw faultError(rules.fault)
  if (found !== undefined) throw new AqlError('static', found.detail, position)
  return query
}

/** Parses an expression on its own. Aggregators and the current value may occur anywhere in it. */
export function parseExpr(text: string, { now }: ParseOptions): Expr {
  return parseAlone(text, now, (rules) => rules.expr())
}

/** Parses a tag expression on its own. */
export function parseTagExpr(text: string, { now }: ParseOptions): TagExpr {
  return parseAlone(text, now, (rules) => rules.tagExpr())
}

function parseAlone<T>(text: string, now: Micros, rule: (rules: QueryRules) => T | undefined): T {
  const reader = new Reader(text)
  const rules = new QueryRules(reader, now)
  reader.skipTrivia()
  const read = rule(rules)
  if (read === undefined || !rules.end()) throw reader.syntaxError()
  if (rules.fault !== undefined) throw faultError(rules.fault)
  return read
}

function faultError({ position, detail }: { readonly position: number; readonly detail: string }): AqlError {
  return new AqlError('static', detail, position)
}
