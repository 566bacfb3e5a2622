import type { AggregateOperator, BinaryOperator, Chain, Clause, Entry, Expr, Item, Query } from '../ast.ts'
import { functionNameEnd } from './characters.ts'
import type { Name } from './expected.ts'
import { readInstant } from './instants.ts'
import { readKey } from './keys.ts'
import { readDigits, readNumber } from './numbers.ts'
import { binaryNames, binaryPrecedence, binarySpellings } from './operators.ts'
import { bind, extended } from './precedence.ts'
import { readString } from './strings.ts'
import { TemplateRules } from './templates.ts'

const atomNames: readonly Name[] = [
  ...([
    'query',
    'interpolation',
    'string',
    'null',
    'bool',
    'decimal',
    'object',
    'array',
    'ident',
    'func_name',
  ] as const),
  ...(['meta_key', 'meta_time', 'meta_tags', 'meta_app', 'expr_index', 'simple_cases', 'aggr_op'] as const),
]
const aggregators: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']

/**
 * Values: the rules of expressions. What cannot be read is tried again by every query around it, so the places where
 * no operand begins are remembered. Without that a text of a few hundred characters could take forever.
 */
export abstract class ExprRules extends TemplateRules {
  readonly #noOperand = new Set<number>()

  protected abstract query(): Query | undefined

  expr(): Expr | undefined {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    this.enter(1)
    const first = this.#operand()
    const rest: { operator: BinaryOperator; operand: Expr }[] = []
    while (first !== undefined) {
      const next = this.whole(() => this.#operation())
      // Whatever comes now may belong to something around this expression.
      if (next === undefined) break
      rest.push(next)
    }
    this.leave(1)
    if (first !== undefined) return bind({ first, rest }, binaryPrecedence, chain)
    reader.expected.missed('simple_expr', start, mark)
    return undefined
  }

  /** Items with commas between them. A comma without an item may belong to something around them. */
  protected items(): readonly Item[] | undefined {
    const { reader } = this
    const items: Item[] = []
    let end = reader.at
    do {
      const spread = reader.token('...')
      if (!spread) reader.miss('spread')
      const expr = this.expr()
      if (expr === undefined) break
      items.push({ spread, expr })
      end = reader.at
    } while (reader.token(','))
    reader.at = end
    return items.length === 0 ? undefined : items
  }

  protected array(): readonly Item[] | undefined {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    const items = this.enclosed('[', () => (reader.text[reader.at] === ']' ? [] : this.items()), ']')
    if (items === undefined) reader.expected.missed('array', start, mark)
    return items
  }

  #operation(): { operator: BinaryOperator; operand: Expr } | undefined {
    const { reader } = this
    const found = binarySpellings.find(([spelling]) => reader.token(spelling))
    if (found === undefined) {
      reader.expected.missedAll(binaryNames, reader.at)
      return undefined
    }
    const operand = this.#operand()
    return operand && { operator: found[1], operand }
  }

  #operand(): Expr | undefined {
    const { reader } = this
    const start = reader.at
    reader.steps++
    if (this.#noOperand.has(start)) return undefined
    let nots = 0
    while (reader.token('!') || reader.token('¬')) nots++
    reader.miss('not')
    // Within a template blanks may stand before the operand, but not before a `!`.
    reader.skip()
    this.enter(nots)
    let operand = this.#atom()
    this.leave(nots)
    if (operand === undefined) {
      reader.at = start
      this.#noOperand.add(start)
    } else for (; nots > 0; nots--) operand = { kind: 'not', operand }
    return operand
  }

  #atom(): Expr | undefined {
    const { reader } = this
    const start = reader.at
    const read =
      readNumber(reader) ?? this.#call() ?? this.#path() ?? this.#text() ?? this.#composite() ?? this.#keyword()
    if (read === undefined) reader.expected.missedAll(atomNames, start)
    return read
  }

  #call(): Expr | undefined {
    const { reader } = this
    const start = reader.at
    const end = functionNameEnd(reader.text, start)
    if (end === start) return undefined
    return this.whole(() => {
      reader.pass(end)
      reader.skip()
      const values = this.enclosed('(', () => (reader.text[reader.at] === ')' ? [] : this.list(() => this.expr())), ')')
      return values && { kind: 'call', name: reader.text.slice(start, end), arguments: values }
    })
  }

  #path(): Expr | undefined {
    const place = this.reader.at
    const name = this.variable()
    if (name === undefined) return undefined
    return this.#indexed(this.#placed({ kind: 'variable', name }, place))
  }

  #indexed(head: Expr): Expr {
    const path: Expr[] = []
    while (true) {
      const next = this.whole(() => (this.reader.token('.') ? this.#property() : this.#bracket()))
      if (next === undefined) return path.length === 0 ? head : { kind: 'index', head, path }
      path.push(next)
    }
  }

  #property(): Expr | undefined {
    const value = this.identifier()
    return value === undefined ? undefined : { kind: 'string', value }
  }

  /** An index or a key in brackets: a number, a text, or an expression for one. */
  #bracket(): Expr | undefined {
    const { reader } = this
    const start = reader.at
    if (reader.text[start] !== '[') return undefined
    const digits = this.enclosed('[', () => this.#digits(), ']')
    if (digits !== undefined) return { kind: 'natural', value: this.naturalOf(digits, start) }
    return this.enclosed('[', () => this.#string(), ']') ?? this.#computed()
  }

  #digits(): string | undefined {
    const digits = readDigits(this.reader)
    this.reader.skip()
    return digits
  }

  #string(): Expr | undefined {
    const value = readString(this.reader)
    if (value !== undefined) return { kind: 'string', value }
    this.reader.miss('string')
    return undefined
  }

  #computed(): Expr | undefined {
    const value = this.enclosed('[', () => this.expr(), ']')
    // Only the parentheses tell that it is not a literal, so they stay.
    if (value?.kind === 'natural' || value?.kind === 'string') return { kind: 'chain', first: value, rest: [] }
    return value
  }

  #text(): Expr | undefined {
    const value = readString(this.reader)
    if (value !== undefined) return { kind: 'string', value }
    const parts = this.template()
    return parts && { kind: 'template', parts }
  }

  #composite(): Expr | undefined {
    const { reader } = this
    switch (reader.text[reader.at]) {
      case '(': {
        const head = this.enclosed('(', () => this.expr(), ')')
        return head && this.#indexed(head)
      }
      case '{': {
        const entries = this.enclosed('{', () => this.#entries(), '}')
        return entries && { kind: 'object', entries }
      }
      case '[': {
        const items = this.array()
        return items && { kind: 'array', items }
      }
      default:
        return undefined
    }
  }

  #entries(): readonly Entry[] {
    const entries: Entry[] = []
    while (true) {
      const entry = this.whole(() => this.#entry())
      if (entry === undefined) return entries
      entries.push(entry)
      this.reader.token(',')
    }
  }

  #entry(): Entry | undefined {
    const key = this.#property() ?? this.#bracket()
    const value = key !== undefined && this.reader.token(':') ? this.expr() : undefined
    return key && value && { key, value }
  }

  #keyword(): Expr | undefined {
    const { reader } = this
    // All of them begin with a capital letter.
    if (!/[A-Z]/.test(reader.text.charAt(reader.at))) return undefined
    if (reader.token('NULL')) return { kind: 'null' }
    if (reader.token('TRUE')) return { kind: 'bool', value: true }
    if (reader.token('FALSE')) return { kind: 'bool', value: false }
    const query = this.query()
    if (query !== undefined) return { kind: 'query', query }
    return this.#case() ?? this.#aggregator() ?? this.#meta()
  }

  #case(): Expr | undefined {
    return this.whole(() => {
      const clauses: Clause[] = []
      while (true) {
        const clause = this.whole(() => this.#clause())
        if (clause === undefined) break
        clauses.push(clause)
      }
      return clauses.length > 0 && this.reader.token('ENDCASE') ? { kind: 'case', clauses } : undefined
    })
  }

  #clause(): Clause | undefined {
    const condition = this.reader.token('CASE') ? this.expr() : undefined
    const value = condition !== undefined && this.reader.token('=>') ? this.expr() : undefined
    return condition && value && { condition, value }
  }

  #aggregator(): Expr | undefined {
    const place = this.reader.at
    const operator = aggregators.find((name) => this.reader.text.startsWith(`${name}(`, place))
    const argument = operator && this.enclosed(`${operator}(`, () => this.expr(), ')')
    return operator && argument && this.#placed({ kind: 'aggregator', operator, argument }, place)
  }

  #meta(): Expr | undefined {
    return (
      this.#metaOf('key', 'KEY(', () => this.#keyLiteral()) ??
      this.#metaOf('time', 'TIME(', () => this.#timeLiteral()) ??
      this.#metaOf('tags', 'TAGS(') ??
      this.#metaOf('app', 'APP(')
    )
  }

  #metaOf(what: 'key' | 'time' | 'tags' | 'app', open: string, literal?: () => Expr | undefined): Expr | undefined {
    const place = this.reader.at
    const read = () => {
      const variable = this.variable()
      return variable === undefined ? literal?.() : this.#placed({ kind: 'meta', what, variable }, place)
    }
    return this.enclosed(open, read, ')')
  }

  #keyLiteral(): Expr | undefined {
    const place = this.reader.at
    const key = readKey(this.reader)
    return key && { kind: 'keyLiteral', key: this.keyOf(key, place) }
  }

  #timeLiteral(): Expr | undefined {
    const place = this.reader.at
    const time = readInstant(this.reader)
    return time && { kind: 'timeLiteral', time: this.timeOf(time, place) }
  }

  #placed(expr: Expr, place: number): Expr {
    this.places.set(expr, place)
    return expr
  }
}

function chain(first: Expr, rest: Chain['rest']): Chain {
  return first.kind === 'chain' ? extended(first, rest) : { kind: 'chain', first, rest }
}
