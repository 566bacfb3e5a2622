import type { Clause, Entry, Expr, Item, Query, Source, Stage, TagAtom, TagExpr, Template } from '../ast.ts'
import { type Nested, type Pace, Segment } from '../steps.ts'
import { isIdentifier } from '../text/characters.ts'
import { binaryPrecedence } from '../text/operator-texts.ts'
import { flat, group, indent, join, type Layout, nothing, space } from './layout.ts'
import { printDecimal, printExactly, printInstant, printKey, printString } from './literals.ts'

const orders = { asc: 'ASC', desc: 'DESC', 'stream-asc': 'STREAM' } as const
const tagOperators = { or: { spelling: '|', binds: 0 }, and: { spelling: '&', binds: 1 } } as const
/** More than any operator does. */
const tight = 100

/** Levels that the stack is surely enough for. */
const levelsPerSegment = 32

/** An operator and its right side. */
interface Step {
  readonly spelling: string
  /** How strongly the operator binds. */
  readonly binds: number
  /** How strongly the right side is bound: like the operator that is applied last in it. */
  readonly bound: number
  readonly operand: () => Nested<Layout>
}

/**
 * Writes trees as texts. With all parentheses the text is the canonical one, which says what is applied first without
 * knowing any precedence; with those that are needed it is one for people.
 */
export class Printer {
  readonly #all: boolean
  readonly #pace: Pace
  #depth = 0
  #deepest = 0
  /** Expressions within each other. */
  #nested = 0

  constructor(parentheses: 'all' | 'needed', pace: Pace) {
    this.#all = parentheses === 'all'
    this.#pace = pace
  }

  /** How many levels a text with all parentheses has, counted as they are when it is read. */
  get deepest(): number {
    return this.#deepest
  }

  *query({ source, stages }: Query): Nested<Layout> {
    const parts: Layout[] = ['FROM ', yield* this.#source(source)]
    for (const stage of stages) {
      parts.push(space, yield* this.#stage(stage))
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
      bound: operand.kind === 'chain' ? tagOperators[operand.rest.at(-1)?.operator ?? 'and'].binds : tight,
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
        return group('SELECT ', indent(join(yield* this.#items(stage.items), [',', space])))
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
    return this.#nested % levelsPerSegment === levelsPerSegment - 1 ? this.#segment(expr) : this.#printed(expr)
  }

  *#segment(expr: Expr): Nested<Layout> {
    const segment = new Segment(this.#printed(expr))
    yield segment
    return segment.result as Layout
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
        return ['!', yield* this.#deeper(1, () => this.#enclosedChain(expr.operand))]
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
        return group(join([...clauses, 'ENDCASE'], space))
      }
      case 'aggregator':
        return [`${expr.operator}(`, yield* this.expr(expr.argument), ')']
      case 'query':
        return group(yield* this.query(expr.query), space, 'END')
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
      binds: binaryPrecedence.get(operator) ?? 0,
      bound: operand.kind === 'chain' ? (binaryPrecedence.get(operand.rest.at(-1)?.operator ?? '^') ?? 0) : tight,
      operand: () => this.#operand(operand),
    }))
    return yield* this.#chain(() => this.#operand(first), steps)
  }

  *#chain(first: () => Nested<Layout>, steps: readonly Step[]): Nested<Layout> {
    const { length } = steps
    if (this.#all) {
      const parts: Layout[] = ['('.repeat(length), yield* this.#deeper(length, first)]
      for (const [index, { spelling, operand }] of steps.entries()) {
        parts.push([` ${spelling} `, yield* this.#deeper(length - index, operand), ')'])
        if (this.#pace.isDue()) yield undefined
      }
      return parts
    }
    let left: Layout[] = [yield* first()]
    let bound = tight
    for (const { spelling, binds, bound: right, operand } of steps) {
      if (bound < binds) left = [parenthesised(broken(left))]
      bound = binds
      const layout = yield* operand()
      left.push([`${spelling} `, right <= binds ? parenthesised(layout) : layout])
      if (this.#pace.isDue()) yield undefined
    }
    return broken(left)
  }

  /** With all parentheses a chain has its own. */
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
    // Without parentheses these would be taken for a literal, which a decimal cannot be here.
    const isAmbiguous = key.kind === 'decimal' || (key.kind === 'chain' && key.rest.length === 0)
    if (!this.#all && !isAmbiguous) return ['[', yield* this.expr(key), ']']
    return ['[', parenthesised(yield* this.#deeper(1, () => this.expr(key))), ']']
  }

  *#object(entries: readonly Entry[]): Nested<Layout> {
    if (entries.length === 0) return this.#all ? '{  }' : '{}'
    const parts: Layout[] = []
    for (const { key, value } of entries) {
      const name = key.kind === 'string' && isIdentifier(key.value) ? key.value : yield* this.#bracket(key)
      parts.push([name, ': ', yield* this.expr(value)])
    }
    return group('{', indent(space, join(parts, [',', space])), space, '}')
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

  /** Always in one line, since a line end in a template is a part of it. */
  *#template(parts: Template): Nested<Layout> {
    const texts: string[] = []
    for (const part of parts) {
      if (typeof part !== 'string') texts.push(`{${flat(yield* this.expr(part))}}`)
      else if (this.#all) texts.push(`{${printString(part)}}`)
      else texts.push(part.replace(/[`{]/g, (character) => `{'${character}'}`))
    }
    return `\`${texts.join('')}\``
  }

  *#deeper(levels: number, print: () => Nested<Layout>): Nested<Layout> {
    this.#enter(levels)
    const layout = yield* print()
    this.#depth -= levels
    return layout
  }

  #enter(levels: number): void {
    this.#depth += levels
    this.#deepest = Math.max(this.#deepest, this.#depth)
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
  return group(open, indent(nothing, join(parts, [',', space])), nothing, close)
}

function parenthesised(layout: Layout): Layout {
  return group('(', indent(nothing, layout), nothing, ')')
}

/** Operands in one line, or each with its operator in a line of its own. */
function broken(parts: readonly Layout[]): Layout {
  return parts.length === 1 ? parts : group(indent(join(parts, space)))
}
