import type { Clause, Entry, Expr, Item, Query, Source, Stage, TagAtom, TagExpr, Template } from '../ast.ts'
import { isIdentifier } from '../text/characters.ts'
import { binaryPrecedence } from '../text/operators.ts'
import { flat, group, indent, join, type Layout, nothing, space } from './layout.ts'
import { printDecimal, printExactly, printInstant, printKey, printString } from './literals.ts'

const orders = { asc: 'ASC', desc: 'DESC', 'stream-asc': 'STREAM' } as const
const tagOperators = { or: { spelling: '|', binds: 0 }, and: { spelling: '&', binds: 1 } } as const
/** More than any operator does. */
const tight = 100

/** An operator and its right side. */
interface Step {
  readonly spelling: string
  /** How strongly the operator binds. */
  readonly binds: number
  /** How strongly the right side is bound: like the operator that is applied last in it. */
  readonly bound: number
  readonly operand: () => Layout
}

/**
 * Writes trees as texts. With all parentheses the text is the canonical one, which says what is applied first without
 * knowing any precedence; with those that are needed it is one for people.
 */
export class Printer {
  readonly #all: boolean
  #depth = 0
  #deepest = 0

  constructor(parentheses: 'all' | 'needed') {
    this.#all = parentheses === 'all'
  }

  /** How many levels a text with all parentheses has, counted as they are when it is read. */
  get deepest(): number {
    return this.#deepest
  }

  query({ source, stages }: Query): Layout {
    const parts: Layout[] = ['FROM ', this.#source(source)]
    for (const stage of stages) parts.push(space, this.#stage(stage))
    return parts
  }

  expr(expr: Expr): Layout {
    this.#enter(1)
    const layout = this.#operand(expr)
    this.#depth--
    return layout
  }

  tags(tags: TagExpr): Layout {
    if (tags.kind !== 'chain') return this.#tagAtom(tags)
    const steps = tags.rest.map(({ operator, operand }) => ({
      ...tagOperators[operator],
      bound: operand.kind === 'chain' ? tagOperators[operand.rest.at(-1)?.operator ?? 'and'].binds : tight,
      operand: () => this.tags(operand),
    }))
    return this.#chain(() => this.#tagAtom(tags.first), steps)
  }

  #source(source: Source): Layout {
    if (source.kind === 'array') return this.#array(source.items)
    return [this.tags(source.tags), source.order === undefined ? '' : ` ORDER ${orders[source.order]}`]
  }

  #stage(stage: Stage): Layout {
    switch (stage.kind) {
      case 'filter':
        return ['FILTER ', this.expr(stage.condition)]
      case 'select':
        return group('SELECT ', indent(join(this.#items(stage.items), [',', space])))
      case 'aggregate':
        return ['AGGREGATE ', this.expr(stage.expr)]
      case 'limit':
        return `LIMIT ${stage.count}`
      case 'let':
        return [`LET ${stage.name} := `, this.expr(stage.expr)]
    }
  }

  #tagAtom(atom: TagAtom): Layout {
    switch (atom.kind) {
      case 'tag':
        return printString(atom.tag)
      case 'template':
        return this.#template(atom.parts)
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

  #operand(expr: Expr): Layout {
    switch (expr.kind) {
      case 'chain':
        return this.#operations(expr.first, expr.rest)
      case 'not':
        return ['!', this.#deeper(1, () => this.#enclosedChain(expr.operand))]
      case 'index':
        return [this.#head(expr.head), ...expr.path.map((index) => this.#index(index))]
      case 'template':
        return this.#template(expr.parts)
      case 'object':
        return this.#object(expr.entries)
      case 'array':
        return this.#array(expr.items)
      case 'case':
        return group(join([...expr.clauses.map((clause) => this.#clause(clause)), 'ENDCASE'], space))
      case 'aggregator':
        return [`${expr.operator}(`, this.expr(expr.argument), ')']
      case 'query':
        return group(this.query(expr.query), space, 'END')
      case 'call':
        return list(
          `${expr.name}(`,
          expr.arguments.map((argument) => this.expr(argument)),
          ')',
        )
      default:
        return printScalar(expr)
    }
  }

  #operations(first: Expr, rest: Extract<Expr, { kind: 'chain' }>['rest']): Layout {
    const steps = rest.map(({ operator, operand }) => ({
      spelling: operator,
      binds: binaryPrecedence.get(operator) ?? 0,
      bound: operand.kind === 'chain' ? (binaryPrecedence.get(operand.rest.at(-1)?.operator ?? '^') ?? 0) : tight,
      operand: () => this.#operand(operand),
    }))
    return this.#chain(() => this.#operand(first), steps)
  }

  #chain(first: () => Layout, steps: readonly Step[]): Layout {
    const { length } = steps
    if (this.#all) {
      const rest = steps.map(({ spelling, operand }, index) => [
        ` ${spelling} `,
        this.#deeper(length - index, operand),
        ')',
      ])
      return ['('.repeat(length), this.#deeper(length, first), ...rest]
    }
    let left: Layout[] = [first()]
    let bound = tight
    for (const { spelling, binds, bound: right, operand } of steps) {
      if (bound < binds) left = [parenthesised(broken(left))]
      bound = binds
      left.push([`${spelling} `, right <= binds ? parenthesised(operand()) : operand()])
    }
    return broken(left)
  }

  /** With all parentheses a chain has its own. */
  #enclosedChain(expr: Expr): Layout {
    const operand = this.#operand(expr)
    return expr.kind === 'chain' && !this.#all ? parenthesised(operand) : operand
  }

  #head(head: Expr): Layout {
    return head.kind === 'variable' ? head.name : parenthesised(this.expr(head))
  }

  #index(index: Expr): Layout {
    return index.kind === 'string' && isIdentifier(index.value) ? `.${index.value}` : this.#bracket(index)
  }

  #bracket(key: Expr): Layout {
    if (key.kind === 'string') return `[${printString(key.value)}]`
    if (key.kind === 'natural') return `[${key.value}]`
    // Without parentheses these would be taken for a literal, which a decimal cannot be here.
    const isAmbiguous = key.kind === 'decimal' || (key.kind === 'chain' && key.rest.length === 0)
    if (!this.#all && !isAmbiguous) return ['[', this.expr(key), ']']
    return ['[', parenthesised(this.#deeper(1, () => this.expr(key))), ']']
  }

  #object(entries: readonly Entry[]): Layout {
    if (entries.length === 0) return this.#all ? '{  }' : '{}'
    const parts = entries.map(({ key, value }) => {
      const name = key.kind === 'string' && isIdentifier(key.value) ? key.value : this.#bracket(key)
      return [name, ': ', this.expr(value)]
    })
    return group('{', indent(space, join(parts, [',', space])), space, '}')
  }

  #array(items: readonly Item[]): Layout {
    return list('[', this.#items(items), ']')
  }

  #items(items: readonly Item[]): readonly Layout[] {
    // No `map`: what nests needs a stack, and this is where the deepest queries nest.
    const layouts: Layout[] = []
    for (const { spread, expr } of items) layouts.push([spread ? '...' : '', this.expr(expr)])
    return layouts
  }

  #clause({ condition, value }: Clause): Layout {
    return ['CASE ', this.expr(condition), ' => ', this.expr(value)]
  }

  /** Always in one line, since a line end in a template is a part of it. */
  #template(parts: Template): Layout {
    const texts = parts.map((part) => {
      if (typeof part !== 'string') return `{${flat(this.expr(part))}}`
      return this.#all ? `{${printString(part)}}` : part.replace(/[`{]/g, (character) => `{'${character}'}`)
    })
    return `\`${texts.join('')}\``
  }

  #deeper(levels: number, print: () => Layout): Layout {
    this.#enter(levels)
    const layout = print()
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
