import type { AggregateOperator, BinaryOperator, Expr, Query, Stage, TagExpr } from '../../src/aql/ast.ts'
import { childrenOf, exprsIn, stageChildren, tagAtoms } from '../../src/aql/walk.ts'

/** An exclusion: queries on which the nodes are meant to differ, or which crash the reference. */
interface Exclusion {
  /** The deviation in the language specification. */
  readonly rule: string
  readonly what: string
  readonly isIn: (query: Query) => boolean
}

/**
 * The exclusions. Of the other deviations, R2, R3, R11 and R16 are about texts that are not generated (impossible
 * dates, long chains, aggregators within nested sources, instants before 1970), R6 is about canonical texts, R7 about
 * payloads, R10, R12 and R14 about subscriptions (see below), and R13 about live events. R17 is no difference. Four
 * additional events compensate for R15, and a lower bound for R21.
 */
export const exclusions: readonly Exclusion[] = [
  { rule: 'R1', what: '% of naturals crashes the reference', isIn: (query) => uses(query, '%') },
  {
    rule: 'R4',
    what: 'LET after a stage that emits several values, and LET between two AGGREGATE, which flush in one pass',
    isIn: (query) => queriesIn(query).some((one) => bindsMany(one) || bindsBetweenAggregates(one)),
  },
  {
    rule: 'R5',
    what: 'spread in the array of a sub-query',
    isIn: (query) => queriesIn(query).some((one) => one !== query && spreadsSource(one)),
  },
  { rule: 'R8', what: 'LAST of values without metadata', isIn: (query) => queriesIn(query).some(hasLastOfSynthetic) },
  { rule: 'R9', what: 'KEY and TIME in branches of |', isIn: (query) => tagsIn(query).some(hasRangeInBranch) },
  { rule: 'R18', what: 'object keys that are neither strings nor numbers', isIn: (query) => some(query, hasOddKey) },
  { rule: 'R19', what: 'timestamps in templates', isIn: (query) => usesTime(query) && some(query, isTemplate) },
  { rule: 'R20', what: 'comparisons of timestamps', isIn: (query) => usesTime(query) && some(query, compares) },
]

export function isExcluded(query: Query): boolean {
  return exclusions.some(({ isIn }) => isIn(query))
}

/** R7: negative integers. */
export function isPayloadExcluded(json: string): boolean {
  return /-\d+(?![\d.])/.test(json)
}

/**
 * R14: the reference responds with 405 to a subscription with a failing tag template. R10: it continues after the
 * result is settled.
 */
export function isSubscriptionExcluded({ source, stages }: Query): boolean {
  if (source.kind === 'array' || tagAtoms(source.tags).some(({ kind }) => kind === 'template')) return true
  return stages.some(
    (stage) => stage.kind === 'limit' || (stage.kind === 'aggregate' && aggregatorsIn(stage.expr).length === 0),
  )
}

/** Whether a stage has several aggregators of one kind. The specification orders their failures by kind only. */
export function hasAlikeAggregators(query: Query): boolean {
  return queriesIn(query).some(({ stages }) =>
    stages.some((stage) => {
      const operators = stageChildren(stage).flatMap(aggregatorsIn)
      return new Set(operators).size < operators.length
    }),
  )
}

function aggregatorsIn(expr: Expr): readonly AggregateOperator[] {
  return expr.kind === 'aggregator' ? [expr.operator] : childrenOf(expr).flatMap(aggregatorsIn)
}

function some(query: Query, holds: (expr: Expr) => boolean): boolean {
  return exprsIn(query).some(holds)
}

/** The query and all its sub-queries. */
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

/** Such queries are only compared over inline events, which have the same times on both nodes. */
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

function bindsBetweenAggregates({ stages }: Query): boolean {
  const first = stages.findIndex(({ kind }) => kind === 'aggregate')
  const last = stages.findLastIndex(({ kind }) => kind === 'aggregate')
  return stages.some(({ kind }, at) => kind === 'let' && at > first && at < last)
}

function spreadsSource({ source }: Query): boolean {
  return source.kind === 'array' && source.items.some(({ spread }) => spread)
}

/** Whether LAST may get a value without metadata. Only values taken directly from an event surely have some. */
function hasLastOfSynthetic({ source, stages }: Query): boolean {
  const isKept = (stage: Stage): boolean =>
    stage.kind === 'filter' || stage.kind === 'limit' || (stage.kind === 'let' && stage.name !== '_')
  const changed = stages.findIndex((stage) => !isKept(stage))
  return stages.some((stage, at) =>
    stageChildren(stage)
      .flatMap(lastsIn)
      .some((argument) => source.kind === 'array' || changed < at || !isOfEvent(argument)),
  )
}

function lastsIn(expr: Expr): readonly Expr[] {
  if (expr.kind === 'aggregator') return expr.operator === 'LAST' ? [expr.argument] : []
  return childrenOf(expr).flatMap(lastsIn)
}

function isOfEvent(expr: Expr): boolean {
  return expr.kind === 'index' ? isOfEvent(expr.head) : expr.kind === 'variable' && expr.name === '_'
}

/** Whether KEY or TIME restrict only some branches; a condition after the last `|` restricts all branches before it. */
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
