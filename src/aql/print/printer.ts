import type { Clause, Entry, Expr, Item, Query, Source, Stage, TagAtom, TagExpr, Template } from '../ast.ts'
import { DeferredCall, type Nested, type Pace } from '../steps.ts'
import { isIdentifier } from '../text/characters.ts'
import { binaryPrecedence } from '../text/operator-texts.ts'
import { flat, group, indent, join, type Layout, line, softline } from './layout.ts'
import { printDecimal, printExactly, printInstant, printKey, printString } from './literals.ts'

const orders = { asc: 'ASC', desc: 'DESC', 'stream-asc': 'STREAM' } as const
const tagOperators = { or: { spelling: '|', precedence: 0 }, and: { spelling: '&', precedence: 1 } } as const
/** Higher than that of any operator. */
const atomPrecedence = 100

/** Nesting levels that run on one stack before a call is deferred to the trampoline. */
const levelsPerStack = 32

/** An operator and its right side. */
interface Step {
  readonly spelling: string
  /** Precedence of the operator. */
  readonly precedence: number
  /** Precedence of the outermost operator of the right side. */
  readonly operandPrecedence: number
  readonly operand: () => Nested<Layout>
}

/**
 * Prints an AST as text. With all parentheses the text is canonical: it can be read without knowing operator
 * precedence. With only the needed ones it is for people.
 */
export class Printer {
  readonly #all: boolean
  readonly #pace: Pace
  #depth = 0
  #maxDepth = 0
  /** Recursion depth of expressions. */
  #nested = 0

  constructor(parentheses: 'all' | 'needed', pace: Pace) {
    this.#all = parentheses === 'all'
    this.#pace = pace
  }

  /** Nesting depth of the fully parenthesised text, counted as the parser does. */
  get maxDepth(): number {
    return this.#maxDepth
  }

  *query({ source, stages }: Query): Nested<Layout> {
    const parts: Layout[] = ['FROM ', yield* this.#source(source)]
    for (const stage of stages) {
      parts.push(line, yield* this.#stage(stage))
      if (this.#pace.isDue()) yield undefined
    }
    return parts
  }

  *expr(expr: Expr): Nested<Layout> {
    this.#enter(1)
    const layout = yield* this.#operand(expr)
    this.#depth--
    return layout
  }

  *tags(tags: TagExpr): Nested<Layout> {
    if (tags.kind !== 'chain') return yield* this.#tagAtom(tags)
    const steps = tags.rest.map(({ operator, operand }) => ({
      ...tagOperators[operator],
      operandPrecedence:
        operand.kind === 'chain' ? tagOperators[operand.rest.at(-1)?.operator ?? 'and'].precedence : atomPrecedence,
      operand: () => this.tags(operand),
    }))
    return yield* this.#chain(() => this.#tagAtom(tags.first), steps)
  }

  *#source(source: Source): Nested<Layout> {
    if (source.kind === 'array') return yield* this.#array(source.items)
    return [yield* this.tags(source.tags), source.order === undefined ? '' : ` ORDER ${orders[source.order]}`]
  }

  *#stage(stage: Stage): Nested<Layout> {
    switch (stage.kind) {
      case 'filter':
        return ['FILTER ', yield* this.expr(stage.condition)]
      case 'select':
        return group('SELECT ', indent(join(yield* this.#items(stage.items), [',', line])))
      case 'aggregate':
        return ['AGGREGATE ', yield* this.expr(stage.expr)]
      case 'limit':
        return `LIMIT ${stage.count}`
      case 'let':
        return [`LET ${stage.name} := `, yield* this.expr(stage.expr)]
    }
  }

  *#tagAtom(atom: TagAtom): Nested<Layout> {
    switch (atom.kind) {
      case 'tag':
        return printString(atom.tag)
      case 'template':
        return yield* this.#template(atom.parts)
      case 'appId':
        return `appId(${atom.appId})`
      case 'time':
        return `TIME ${atom.comparison} ${printInstant(atom.time)}`
      case 'key':
        return `KEY ${atom.comparison} ${printKey(atom.key)}`
      default:
        return atom.kind
    }
  }

  #operand(expr: Expr): Nested<Layout> {
    return this.#nested % levelsPerStack === levelsPerStack - 1 ? this.#deferred(expr) : this.#printed(expr)
  }

  *#deferred(expr: Expr): Nested<Layout> {
    const deferred = new DeferredCall(this.#printed(expr))
    yield deferred
    return deferred.result as Layout
  }

  *#printed(expr: Expr): Nested<Layout> {
    this.#nested++
    const layout = yield* this.#layoutOf(expr)
    this.#nested--
    return layout
  }

  *#layoutOf(expr: Expr): Nested<Layout> {
    switch (expr.kind) {
      case 'chain':
        return yield* this.#operations(expr.first, expr.rest)
      case 'not':
        return ['!', yield* this.#nestedBy(1, () => this.#enclosedChain(expr.operand))]
      case 'index': {
        const parts = [yield* this.#head(expr.head)]
        for (const index of expr.path) parts.push(yield* this.#index(index))
        return parts
      }
      case 'template':
        return yield* this.#template(expr.parts)
      case 'object':
        return yield* this.#object(expr.entries)
      case 'array':
        return yield* this.#array(expr.items)
      case 'case': {
        const clauses: Layout[] = []
        for (const clause of expr.clauses) clauses.push(yield* this.#clause(clause))
        return group(join([...clauses, 'ENDCASE'], line))
      }
      case 'aggregator':
        return [`${expr.operator}(`, yield* this.expr(expr.argument), ')']
      case 'query':
        return group(yield* this.query(expr.query), line, 'END')
      case 'call': {
        const values: Layout[] = []
        for (const argument of expr.arguments) values.push(yield* this.expr(argument))
        return list(`${expr.name}(`, values, ')')
      }
      default:
        if (this.#pace.isDue()) yield undefined
        return printScalar(expr)
    }
  }

  *#operations(first: Expr, rest: Extract<Expr, { kind: 'chain' }>['rest']): Nested<Layout> {
    const steps = rest.map(({ operator, operand }) => ({
      spelling: operator,
      precedence: binaryPrecedence.get(operator) ?? 0,
      operandPrecedence:
        operand.kind === 'chain' ? (binaryPrecedence.get(operand.rest.at(-1)?.operator ?? '^') ?? 0) : atomPrecedence,
      operand: () => this.#operand(operand),
    }))
    return yield* this.#chain(() => this.#operand(first), steps)
  }

  *#chain(first: () => Nested<Layout>, steps: readonly Step[]): Nested<Layout> {
    const { length } = steps
    if (this.#all) {
      const parts: Layout[] = ['('.repeat(length), yield* this.#nestedBy(length, first)]
      for (const [index, { spelling, operand }] of steps.entries()) {
        parts.push([` ${spelling} `, yield* this.#nestedBy(length - index, operand), ')'])
        if (this.#pace.isDue()) yield undefined
      }
      return parts
    }
    let left: Layout[] = [yield* first()]
    let leftPrecedence = atomPrecedence
    for (const { spelling, precedence, operandPrecedence: right, operand } of steps) {
      if (leftPrecedence < precedence) left = [parenthesised(broken(left))]
      leftPrecedence = precedence
      const layout = yield* operand()
      left.push([`${spelling} `, right <= precedence ? parenthesised(layout) : layout])
      if (this.#pace.isDue()) yield undefined
    }
    return broken(left)
  }

  /** Adds parentheses to a chain, unless it has its own because all are printed. */
  *#enclosedChain(expr: Expr): Nested<Layout> {
    const operand = yield* this.#operand(expr)
    return expr.kind === 'chain' && !this.#all ? parenthesised(operand) : operand
  }

  *#head(head: Expr): Nested<Layout> {
    return head.kind === 'variable' ? head.name : parenthesised(yield* this.expr(head))
  }

  *#index(index: Expr): Nested<Layout> {
    if (this.#pace.isDue()) yield undefined
    return index.kind === 'string' && isIdentifier(index.value) ? `.${index.value}` : yield* this.#bracket(index)
  }

  *#bracket(key: Expr): Nested<Layout> {
    if (key.kind === 'string') return `[${printString(key.value)}]`
    if (key.kind === 'natural') return `[${key.value}]`
    // Without parentheses these would parse as a literal index, and a decimal is not allowed there.
    const isAmbiguous = key.kind === 'decimal' || (key.kind === 'chain' && key.rest.length === 0)
    if (!this.#all && !isAmbiguous) return ['[', yield* this.expr(key), ']']
    return ['[', parenthesised(yield* this.#nestedBy(1, () => this.expr(key))), ']']
  }

  *#object(entries: readonly Entry[]): Nested<Layout> {
    if (entries.length === 0) return this.#all ? '{  }' : '{}'
    const parts: Layout[] = []
    for (const { key, value } of entries) {
      const name = key.kind === 'string' && isIdentifier(key.value) ? key.value : yield* this.#bracket(key)
      parts.push([name, ': ', yield* this.expr(value)])
    }
    return group('{', indent(line, join(parts, [',', line])), line, '}')
  }

  *#array(items: readonly Item[]): Nested<Layout> {
    return list('[', yield* this.#items(items), ']')
  }

  *#items(items: readonly Item[]): Nested<readonly Layout[]> {
    const layouts: Layout[] = []
    for (const { spread, expr } of items) layouts.push([spread ? '...' : '', yield* this.expr(expr)])
    return layouts
  }

  *#clause({ condition, value }: Clause): Nested<Layout> {
    return ['CASE ', yield* this.expr(condition), ' => ', yield* this.expr(value)]
  }

  /** Always on one line, because a line break in a template is part of its text. */
  *#template(parts: Template): Nested<Layout> {
    const texts: string[] = []
    for (const part of parts) {
      if (typeof part !== 'string') texts.push(`{${flat(yield* this.expr(part))}}`)
      else if (this.#all) texts.push(`{${printString(part)}}`)
      else texts.push(part.replace(/[`{]/g, (character) => `{'${character}'}`))
    }
    return `\`${texts.join('')}\``
  }

  *#nestedBy(levels: number, print: () => Nested<Layout>): Nested<Layout> {
    this.#enter(levels)
    const layout = yield* print()
    this.#depth -= levels
    return layout
  }

  #enter(levels: number): void {
    this.#depth += levels
    this.#maxDepth = Math.max(this.#maxDepth, this.#depth)
  }
}

function printScalar(expr: Expr): string {
  switch (expr.kind) {
    case 'natural':
      return String(expr.value)
    case 'decimal':
      return printDecimal(expr.value)
    case 'string':
      return printString(expr.value)
    case 'bool':
      return expr.value ? 'TRUE' : 'FALSE'
    case 'variable':
      return expr.name
    case 'meta':
      return `${expr.what.toUpperCase()}(${expr.variable})`
    case 'keyLiteral':
      return `KEY(${printKey(expr.key)})`
    case 'timeLiteral':
      return `TIME(${printExactly(expr.time)})`
    default:
      return 'NULL'
  }
}

function list(open: string, parts: readonly Layout[], close: string): Layout {
  if (parts.length === 0) return open + close
  return group(open, indent(softline, join(parts, [',', line])), softline, close)
}

function parenthesised(layout: Layout): Layout {
  return group('(', indent(softline, layout), softline, ')')
}

/** Operands on one line, or each with its operator on a line of its own. */
function broken(parts: readonly Layout[]): Layout {
  return parts.length === 1 ? parts : group(indent(join(parts, line)))
}
