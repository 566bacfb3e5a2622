import type { Expr, Query, Source, Stage, TagAtom, TagExpr } from './ast.ts'

/** The child expressions of an AST node, in source order. A sub-query has none: its expressions are its own. */
export function childrenOf(expr: Expr): readonly Expr[] {
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

/** Whether an AST node has no child expressions. */
export function isLeaf({ kind }: Expr): boolean {
  return leaves.has(kind)
}

const leaves: ReadonlySet<Expr['kind']> = new Set([
  ...(['natural', 'decimal', 'string', 'null', 'bool', 'variable', 'meta', 'keyLiteral', 'timeLiteral'] as const),
])

/** The expressions of a stage, in source order. */
export function stageChildren(stage: Stage): readonly Expr[] {
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

/** The expressions of a source, in source order. */
export function sourceChildren(source: Source): readonly Expr[] {
  if (source.kind === 'array') return source.items.map((item) => item.expr)
  return tagAtoms(source.tags).flatMap((atom) => (atom.kind === 'template' ? childrenOf(atom) : []))
}

/** The atoms of a tag expression, in source order. */
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

/** Walks every expression of a query depth-first, including sub-queries. */
export function* exprsIn(query: Query): Generator<Expr> {
  // An explicit stack of sibling lists, with the index reached in each.
  const stack = [{ parts: queryChildren(query), next: 0 }]
  for (let list = stack.at(-1); list !== undefined; list = stack.at(-1)) {
    const expr = list.parts[list.next++]
    if (expr === undefined) stack.pop()
    else {
      yield expr
      if (!isLeaf(expr))
        stack.push({ parts: expr.kind === 'query' ? queryChildren(expr.query) : childrenOf(expr), next: 0 })
    }
  }
}

/** Whether a query or one of its sub-queries reads events. One that does not needs no store. */
export function readsEvents(query: Query): boolean {
  if (query.source.kind === 'events') return true
  return exprsIn(query).some((expr) => expr.kind === 'query' && expr.query.source.kind === 'events')
}

function queryChildren(query: Query): readonly Expr[] {
  return [...sourceChildren(query.source), ...query.stages.flatMap(stageChildren)]
}
