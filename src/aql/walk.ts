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

/** Whether there are no expressions within an expression. */
export function isLeaf({ kind }: Expr): boolean {
  return leaves.has(kind)
}

const leaves: ReadonlySet<Expr['kind']> = new Set([
  ...(['natural', 'decimal', 'string', 'null', 'bool', 'variable', 'meta', 'keyLiteral', 'timeLiteral'] as const),
])

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

/** The atoms of a condition, in the order of the text. */
export function tagAtoms(tags: TagExpr): readonly TagAtom[] {
  const atoms: TagAtom[] = []
  addAtoms(atoms, tags)
  return atoms
}

function addAtoms(atoms: TagAtom[], tags: TagExpr): void {
  if (tags.kind !== 'chain') atoms.push(tags)
  else {
    atoms.push(tags.first)
    for (const { operand } of tags.rest) addAtoms(atoms, operand)
  }
}

/** Every expression of a query, those of nested queries included. */
export function* exprsIn(query: Query): Generator<Expr> {
  // Lists of parts within each other, and how far each was gone through.
  const lists = [{ parts: queryParts(query), next: 0 }]
  for (let list = lists.at(-1); list !== undefined; list = lists.at(-1)) {
    const expr = list.parts[list.next++]
    if (expr === undefined) lists.pop()
    else {
      yield expr
      if (!isLeaf(expr)) lists.push({ parts: expr.kind === 'query' ? queryParts(expr.query) : partsOf(expr), next: 0 })
    }
  }
}

/** Whether a query, or one within it, reads events; one that does not needs no store to run on. */
export function readsEvents(query: Query): boolean {
  if (query.source.kind === 'events') return true
  return exprsIn(query).some((expr) => expr.kind === 'query' && expr.query.source.kind === 'events')
}

function queryParts(query: Query): readonly Expr[] {
  return [...sourceParts(query.source), ...query.stages.flatMap(stageParts)]
}
