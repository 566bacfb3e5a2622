import type { AggregateOperator, BinaryOperator, Expr, Query, Stage, TagExpr } from '../../src/aql/ast.ts'
import { exprsIn, partsOf, stageParts, tagAtoms } from '../../src/aql/walk.ts'

/** Queries with a known deviation, or that crash the reference system. */
interface LeftOut {
  /** The deviation in the specification of the language. */
  readonly rule: string
  readonly what: string
  readonly isIn: (query: Query) => boolean
}

/**
 * Queries that are not compared. Of the other deviations, R2, R3, R11 and R16 concern texts that are not generated
 * (impossible dates, long chains, aggregators within nested sources, instants before 1970), R6 canonical texts, R7
 * payloads, R10, R12 and R14 subscriptions (both below), R13 a subscription after it has caught up. R17 is no
 * difference, R15 is compensated by four more events, and R21 by a lower bound.
 */
export const leftOut: readonly LeftOut[] = [
  { rule: 'R1', what: '% of naturals ends the reference', isIn: (query) => uses(query, '%') },
  {
    rule: 'R4',
    what: 'LET after a stage that emits several values',
    isIn: (query) => queriesIn(query).some(bindsMany),
  },
  {
    rule: 'R5',
    what: 'spread in the array of a nested query',
    isIn: (query) => queriesIn(query).some((one) => one !== query && spreadsSource(one)),
  },
  { rule: 'R8', what: 'LAST of values without metadata', isIn: (query) => queriesIn(query).some(hasLastOfNowhere) },
  { rule: 'R9', what: 'KEY and TIME in branches of |', isIn: (query) => tagsIn(query).some(hasRangeInBranch) },
  { rule: 'R18', what: 'keys of objects that are neither texts nor numbers', isIn: (query) => some(query, hasOddKey) },
  { rule: 'R19', what: 'timestamps in templates', isIn: (query) => usesTime(query) && some(query, isTemplate) },
  { rule: 'R20', what: 'comparisons of timestamps', isIn: (query) => usesTime(query) && some(query, compares) },
]

export function isLeftOut(query: Query): boolean {
  return leftOut.some(({ isIn }) => isIn(query))
}

/** R7: negative integers. */
export function isPayloadLeftOut(json: string): boolean {
  return /-\d+(?![\d.])/.test(json)
}

/**
 * R14: the reference responds with 405 to a subscription whose tag cannot be evaluated. R10: it continues a
 * subscription that cannot have further results.
 */
export function isSubscriptionLeftOut({ source, stages }: Query): boolean {
  if (source.kind === 'array' || tagAtoms(source.tags).some(({ kind }) => kind === 'template')) return true
  return stages.some(
    (stage) => stage.kind === 'limit' || (stage.kind === 'aggregate' && aggregatorsIn(stage.expr).length === 0),
  )
}

/**
 * Whether some stage has several aggregators of one kind. The specification orders their diagnostics by kind only.
 */
export function hasAlikeAggregators(query: Query): boolean {
  return queriesIn(query).some(({ stages }) =>
    stages.some((stage) => {
      const operators = stageParts(stage).flatMap(aggregatorsIn)
      return new Set(operators).size < operators.length
    }),
  )
}

function aggregatorsIn(expr: Expr): readonly AggregateOperator[] {
  return expr.kind === 'aggregator' ? [expr.operator] : partsOf(expr).flatMap(aggregatorsIn)
}

function some(query: Query, holds: (expr: Expr) => boolean): boolean {
  return exprsIn(query).some(holds)
}

/** The query and all nested queries. */
function queriesIn(query: Query): readonly Query[] {
  return [query, ...exprsIn(query).flatMap((expr) => (expr.kind === 'query' ? [expr.query] : []))]
}

function tagsIn(query: Query): readonly TagExpr[] {
  return queriesIn(query).flatMap(({ source }) => (source.kind === 'events' ? [source.tags] : []))
}

function operatorsOf(expr: Expr): readonly BinaryOperator[] {
  return expr.kind === 'chain' ? expr.rest.map(({ operator }) => operator) : []
}

function uses(query: Query, operator: BinaryOperator): boolean {
  return some(query, (expr) => operatorsOf(expr).includes(operator))
}

/** Events in a pragma have the same timestamps on both nodes. */
export function usesTime(query: Query): boolean {
  return some(query, (expr) => expr.kind === 'meta' && expr.what === 'time')
}

function isTemplate({ kind }: Expr): boolean {
  return kind === 'template'
}

function compares(expr: Expr): boolean {
  if (expr.kind === 'aggregator') return expr.operator === 'MIN' || expr.operator === 'MAX'
  return operatorsOf(expr).some((operator) => /^[<>=!]/.test(operator))
}

function bindsMany({ stages }: Query): boolean {
  const many = stages.findIndex(
    (stage) => stage.kind === 'select' && (stage.items.length > 1 || stage.items.some(({ spread }) => spread)),
  )
  return many >= 0 && stages.slice(many).some(({ kind }) => kind === 'let')
}

function spreadsSource({ source }: Query): boolean {
  return source.kind === 'array' && source.items.some(({ spread }) => spread)
}

/** Whether LAST may get a value without an event. Only values selected from an event are known to have one. */
function hasLastOfNowhere({ source, stages }: Query): boolean {
  const isKept = (stage: Stage): boolean =>
    stage.kind === 'filter' || stage.kind === 'limit' || (stage.kind === 'let' && stage.name !== '_')
  const changed = stages.findIndex((stage) => !isKept(stage))
  return stages.some((stage, at) =>
    stageParts(stage)
      .flatMap(lastsIn)
      .some((argument) => source.kind === 'array' || changed < at || !isOfEvent(argument)),
  )
}

function lastsIn(expr: Expr): readonly Expr[] {
  if (expr.kind === 'aggregator') return expr.operator === 'LAST' ? [expr.argument] : []
  return partsOf(expr).flatMap(lastsIn)
}

function isOfEvent(expr: Expr): boolean {
  return expr.kind === 'index' ? isOfEvent(expr.head) : expr.kind === 'variable' && expr.name === '_'
}

/** Whether KEY or TIME restrict some branches only; terms after the last `|` restrict all before it. */
function hasRangeInBranch(tags: TagExpr): boolean {
  if (tags.kind !== 'chain') return false
  const last = tags.rest.findLastIndex(({ operator }) => operator === 'or')
  const branches = last < 0 ? [] : [tags.first, ...tags.rest.slice(0, last + 1).map(({ operand }) => operand)]
  return branches.some(hasRange) || tags.rest.slice(last + 1).some(({ operand }) => hasRangeInBranch(operand))
}

function hasRange(tags: TagExpr): boolean {
  return tagAtoms(tags).some(({ kind }) => kind === 'key' || kind === 'time')
}

function hasOddKey(expr: Expr): boolean {
  return expr.kind === 'object' && expr.entries.some(({ key }) => !['string', 'natural', 'template'].includes(key.kind))
}
