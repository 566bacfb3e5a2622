import type { Expr, MainQuery, Micros, TagExpr } from './ast.ts'
import { misplaced } from './check.ts'
import { AqlError } from './error.ts'
import { finish, Pace, type Steps } from './steps.ts'
import { QueryRules } from './text/queries.ts'
import { Reader } from './text/text-reader.ts'

export interface ParseOptions {
  /** The time that `7s ago` is counted from. */
  readonly now: Micros
}

/** Reads a query and makes sure that it can be run. Throws an AqlError otherwise. */
export function parseQuery(text: string, { now }: ParseOptions): MainQuery {
  return readQuery(new Reader(text), now)
}

/** The same in steps. */
export function parseSteps(text: string, { now }: ParseOptions): Steps<MainQuery> {
  return readSteps(new Reader(text), now)
}

/** Reads a query from a reader, which counts how much work that is. */
export function readQuery(reader: Reader, now: Micros): MainQuery {
  return finish(readSteps(reader, now))
}

/** The same in steps. */
export function* readSteps(reader: Reader, now: Micros): Steps<MainQuery> {
  const rules = new QueryRules(reader, now)
  const query = yield* rules.mainQuerySteps()
  if (query === undefined) throw reader.syntaxError()
  const wrong = yield* misplaced(query, new Pace())
  const place = (wrong && rules.places.get(wrong.part)) ?? reader.text.length
  if (rules.fault !== undefined && rules.fault.position <= place) throw faultError(rules.fault)
  if (wrong !== undefined) throw new AqlError('static', wrong.detail, place)
  return query
}

/** Reads a lone expression, in which aggregators and the current value may be anywhere. */
export function parseExpr(text: string, { now }: ParseOptions): Expr {
  return parseAlone(text, now, (rules) => rules.expr())
}

/** Reads a lone tag expression. */
export function parseTagExpr(text: string, { now }: ParseOptions): TagExpr {
  return parseAlone(text, now, (rules) => rules.tagExpr())
}

function parseAlone<T>(text: string, now: Micros, rule: (rules: QueryRules) => T | undefined): T {
  const reader = new Reader(text)
  const rules = new QueryRules(reader, now)
  reader.skip()
  const read = rule(rules)
  if (read === undefined || !rules.end()) throw reader.syntaxError()
  if (rules.fault !== undefined) throw faultError(rules.fault)
  return read
}

function faultError({ position, detail }: { readonly position: number; readonly detail: string }): AqlError {
  return new AqlError('static', detail, position)
}
