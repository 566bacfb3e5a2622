import type { Expr, Query, Source, Stage, TagAtom, TagExpr } from './ast.ts'

/** The expressions directly within an expression, in the order of the text. Those of a nested query are its own. */
export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'template':
      return expr.parts.filter((part) => typeof part !== 'string')
    case 'index':
      return [expr.head, ...expr.path]
    case 'object':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'array':
      return expr.items.map((item) => item.expr)
    case 'case':
      return expr.clauses.flatMap(({ condition, value }) => [condition, value])
    case 'aggregator':
      return [expr.argument]
    case 'call':
      return expr.arguments
    case 'not':
      return [expr.operand]
    case 'chain':
      return [expr.first, ...expr.rest.map((step) => step.operand)]
    default:
      return []
  }
}

/** The expressions of a stage, in the order of the text. */
export function stageParts(stage: Stage): readonly Expr[] {
  switch (stage.kind) {
    case 'filter':
      return [stage.condition]
    case 'select':
      return stage.items.map((item) => item.expr)
    case 'limit':
      return []
    default:
      return [stage.expr]
  }
}

/** The expressions of a source, in the order of the text. */
export function sourceParts(source: Source): readonly Expr[] {
  if (source.kind === 'array') return source.items.map((item) => item.expr)
  return tagAtoms(source.tags).flatMap((atom) => (atom.kind === 'template' ? partsOf(atom) : []))
}

export function tagAtoms(tags: TagExpr): readonly TagAtom[] {
  if (tags.kind !== 'chain') return [tags]
  return [tags.first, ...tags.rest.flatMap((step) => tagAtoms(step.operand))]
}

/** Every expression of a query, in no particular order, those of nested queries included. */
export function* exprsIn(query: Query): Generator<Expr> {
  const waiting = [...queryParts(query)]
  for (let expr = waiting.pop(); expr !== undefined; expr = waiting.pop()) {
    yield expr
    for (const part of expr.kind === 'query' ? queryParts(expr.query) : partsOf(expr)) waiting.push(part)
  }
}

function queryParts(query: Query): readonly Expr[] {
  return [...sourceParts(query.source), ...query.stages.flatMap(stageParts)]
}
