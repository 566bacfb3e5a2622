import type { AggregateOperator, BinaryOperator, Chain, Clause, Entry, Expr, Item, Query } from '../ast.ts'
import type { Nested } from '../steps.ts'
import { functionNameEnd } from './characters.ts'
import { readKey } from './event-keys.ts'
import type { RuleName } from './expected.ts'
import { readInstant } from './instants.ts'
import { readDigits, readNumber } from './number-literals.ts'
import { binaryNames, binaryPrecedence, binarySpellings } from './operator-texts.ts'
import { extended, groupByPrecedence } from './precedence.ts'
import { readString } from './strings.ts'
import { TemplateRules } from './templates.ts'

const atomNames: readonly RuleName[] = [
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
/** The spellings of operators by their first character. */
const spellingsByStart = Map.groupBy(binarySpellings, ([spelling]) => spelling.charAt(0))
/** Characters after an identifier that make it more than a plain variable: an index, or a function call. */
const indexStarts: ReadonlySet<string> = new Set(['.', '[', '('])
const aggregators: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']

/**
 * Grammar rules of expressions. Every enclosing query backtracks over a failed operand, so the positions of failures
 * are memoised (packrat parsing). Without that a text of a few hundred characters could take exponential time.
 */
export abstract class ExprRules extends TemplateRules {
  readonly #failedOperands = new Set<number>()

  protected abstract query(): Nested<Query | undefined>

  protected exprSteps(): Nested<Expr | undefined> {
    return this.nested(() => this.#expr())
  }

  *#expr(): Nested<Expr | undefined> {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    this.enter(1)
    const first = this.#simpleOperand() ?? (yield* this.#operand())
    const rest: { operator: BinaryOperator; operand: Expr }[] = []
    while (first !== undefined) {
      const before = reader.at
      const operator = this.#operator()
      const operand = operator && (this.#simpleOperand() ?? (yield* this.#operand()))
      if (operator === undefined || operand === undefined) {
        // Backtrack: the rest may belong to an enclosing rule.
        reader.at = before
        break
      }
      rest.push({ operator, operand })
      if (reader.isDue()) yield undefined
    }
    this.leave(1)
    if (first !== undefined && rest.length === 0) return first
    if (first !== undefined) return yield* groupByPrecedence({ first, rest }, binaryPrecedence, chain, reader)
    reader.expected.missed('simple_expr', start, mark)
    return undefined
  }

  /** Comma-separated items. Backtracks before a trailing comma: it may belong to an enclosing rule. */
  protected *items(): Nested<readonly Item[] | undefined> {
    const { reader } = this
    const items: Item[] = []
    let end = reader.at
    do {
      const spread = reader.token('...')
      if (!spread) reader.miss('spread')
      const expr = yield* this.exprSteps()
      if (expr === undefined) break
      items.push({ spread, expr })
      end = reader.at
      if (reader.isDue()) yield undefined
    } while (reader.token(','))
    reader.at = end
    return items.length === 0 ? undefined : items
  }

  protected *array(): Nested<readonly Item[] | undefined> {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    const items = reader.token('[') ? (reader.text[reader.at] === ']' ? [] : yield* this.items()) : undefined
    if (items !== undefined && reader.token(']')) return items
    reader.at = start
    reader.expected.missed('array', start, mark)
    return undefined
  }

  #operator(): BinaryOperator | undefined {
    const { reader } = this
    const spellings = spellingsByStart.get(reader.text.charAt(reader.at))
    const found = spellings?.find(([spelling]) => reader.token(spelling))
    if (found === undefined) reader.expected.missedAll(binaryNames, reader.at)
    return found?.[1]
  }

  *#operand(): Nested<Expr | undefined> {
    const { reader } = this
    const start = reader.at
    reader.steps++
    if (this.#failedOperands.has(start)) return undefined
    if (reader.isDue()) yield undefined
    let nots = 0
    while (reader.token('!') || reader.token('¬')) nots++
    reader.miss('not')
    // Within a template, whitespace may precede the operand, but not a `!`.
    reader.skipTrivia()
    this.enter(nots)
    let operand = readNumber(reader) ?? (yield* this.#call())
    if (operand === undefined) {
      const variable = this.#variable()
      if (variable !== undefined) operand = yield* this.#indexed(variable)
      else operand = this.#text() ?? (this.isTemplate() ? yield* this.#template() : yield* this.#composite())
    }
    operand ??= yield* this.#keyword()
    this.leave(nots)
    if (operand === undefined) {
      reader.expected.missedAll(atomNames, reader.at)
      reader.at = start
      this.#failedOperands.add(start)
    } else for (; nots > 0; nots--) operand = { kind: 'not', operand }
    return operand
  }

  /** Fast path without a generator: most operands are a number, a string or a plain variable. */
  #simpleOperand(): Expr | undefined {
    const { reader } = this
    const start = reader.at
    const read = readNumber(reader) ?? this.#variable() ?? this.#text()
    if (read?.kind !== 'variable' || !indexStarts.has(reader.text.charAt(reader.at))) return read
    reader.at = start
    return undefined
  }

  #variable(): Expr | undefined {
    const position = this.reader.at
    const name = this.variable()
    return name === undefined ? undefined : this.#withPosition({ kind: 'variable', name }, position)
  }

  #text(): Expr | undefined {
    const value = readString(this.reader)
    return value === undefined ? undefined : { kind: 'string', value }
  }

  *#call(): Nested<Expr | undefined> {
    const { reader } = this
    const start = reader.at
    const end = functionNameEnd(reader.text, start)
    if (end === start) return undefined
    reader.advance(end)
    reader.skipTrivia()
    const isOpen = reader.token('(')
    const values = isOpen && reader.text[reader.at] !== ')' ? yield* this.#arguments() : []
    if (isOpen && values !== undefined && reader.token(')'))
      return { kind: 'call', name: reader.text.slice(start, end), arguments: values }
    reader.at = start
    return undefined
  }

  *#arguments(): Nested<readonly Expr[] | undefined> {
    const { reader } = this
    const values: Expr[] = []
    let end = reader.at
    do {
      const value = yield* this.exprSteps()
      if (value === undefined) break
      values.push(value)
      end = reader.at
      if (reader.isDue()) yield undefined
    } while (reader.token(','))
    reader.at = end
    return values.length === 0 ? undefined : values
  }

  *#indexed(head: Expr): Nested<Expr> {
    const { reader } = this
    const path: Expr[] = []
    while (true) {
      const start = reader.at
      const next = reader.token('.') ? this.#property() : yield* this.#bracket()
      if (next === undefined) {
        reader.at = start
        return path.length === 0 ? head : { kind: 'index', head, path }
      }
      path.push(next)
      if (reader.isDue()) yield undefined
    }
  }

  #property(): Expr | undefined {
    const value = this.identifier()
    return value === undefined ? undefined : { kind: 'string', value }
  }

  /** An index or key in brackets: a number, a string, or an expression. */
  *#bracket(): Nested<Expr | undefined> {
    const { reader } = this
    const start = reader.at
    if (reader.text[start] !== '[') return undefined
    const digits = this.enclosed('[', () => this.#digits(), ']')
    if (digits !== undefined) return { kind: 'natural', value: this.naturalOf(digits, start) }
    return this.enclosed('[', () => this.#string(), ']') ?? (yield* this.#computed())
  }

  #digits(): string | undefined {
    const digits = readDigits(this.reader)
    this.reader.skipTrivia()
    return digits
  }

  #string(): Expr | undefined {
    const value = readString(this.reader)
    if (value !== undefined) return { kind: 'string', value }
    this.reader.miss('string')
    return undefined
  }

  *#computed(): Nested<Expr | undefined> {
    const value = yield* this.enclosedNested('[', () => this.exprSteps(), ']')
    // Only the parentheses mark it as computed, so they are kept as an empty chain.
    if (value?.kind === 'natural' || value?.kind === 'string') return { kind: 'chain', first: value, rest: [] }
    return value
  }

  *#template(): Nested<Expr | undefined> {
    const parts = yield* this.template()
    return parts && { kind: 'template', parts }
  }

  *#composite(): Nested<Expr | undefined> {
    const { reader } = this
    switch (reader.text[reader.at]) {
      case '(': {
        const head = yield* this.enclosedNested('(', () => this.exprSteps(), ')')
        return head && (yield* this.#indexed(head))
      }
      case '{': {
        const entries = yield* this.enclosedNested('{', () => this.#entries(), '}')
        return entries && { kind: 'object', entries }
      }
      case '[': {
        const items = yield* this.array()
        return items && { kind: 'array', items }
      }
      default:
        return undefined
    }
  }

  *#entries(): Nested<readonly Entry[]> {
    const { reader } = this
    const entries: Entry[] = []
    while (true) {
      const start = reader.at
      const entry = yield* this.#entry()
      if (entry === undefined) {
        reader.at = start
        return entries
      }
      entries.push(entry)
      reader.token(',')
      if (reader.isDue()) yield undefined
    }
  }

  *#entry(): Nested<Entry | undefined> {
    const key = this.#property() ?? (yield* this.#bracket())
    const value = key !== undefined && this.reader.token(':') ? yield* this.exprSteps() : undefined
    return key && value && { key, value }
  }

  *#keyword(): Nested<Expr | undefined> {
    const { reader } = this
    // All keywords begin with a capital letter.
    if (!/[A-Z]/.test(reader.text.charAt(reader.at))) return undefined
    if (reader.token('NULL')) return { kind: 'null' }
    if (reader.token('TRUE')) return { kind: 'bool', value: true }
    if (reader.token('FALSE')) return { kind: 'bool', value: false }
    const query = yield* this.query()
    if (query !== undefined) return { kind: 'query', query }
    return (yield* this.#case()) ?? (yield* this.#aggregator()) ?? this.#meta()
  }

  *#case(): Nested<Expr | undefined> {
    const { reader } = this
    const start = reader.at
    const clauses: Clause[] = []
    while (true) {
      const before = reader.at
      const clause = yield* this.#clause()
      if (clause === undefined) {
        reader.at = before
        break
      }
      clauses.push(clause)
      if (reader.isDue()) yield undefined
    }
    if (clauses.length > 0 && reader.token('ENDCASE')) return { kind: 'case', clauses }
    reader.at = start
    return undefined
  }

  *#clause(): Nested<Clause | undefined> {
    const condition = this.reader.token('CASE') ? yield* this.exprSteps() : undefined
    const value = condition !== undefined && this.reader.token('=>') ? yield* this.exprSteps() : undefined
    return condition && value && { condition, value }
  }

  *#aggregator(): Nested<Expr | undefined> {
    const position = this.reader.at
    const operator = aggregators.find((name) => this.reader.text.startsWith(`${name}(`, position))
    const argument = operator && (yield* this.enclosedNested(`${operator}(`, () => this.exprSteps(), ')'))
    return operator && argument && this.#withPosition({ kind: 'aggregator', operator, argument }, position)
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
    const position = this.reader.at
    const read = () => {
      const variable = this.variable()
      return variable === undefined ? literal?.() : this.#withPosition({ kind: 'meta', what, variable }, position)
    }
    return this.enclosed(open, read, ')')
  }

  #keyLiteral(): Expr | undefined {
    const position = this.reader.at
    const key = readKey(this.reader)
    return key && { kind: 'keyLiteral', key: this.keyOf(key, position) }
  }

  #timeLiteral(): Expr | undefined {
    const position = this.reader.at
    const time = readInstant(this.reader)
    return time && { kind: 'timeLiteral', time: this.timeOf(time, position) }
  }

  #withPosition(expr: Expr, position: number): Expr {
    this.positions.add(expr, position)
    return expr
  }
}

function chain(first: Expr, rest: Chain['rest']): Chain {
  return first.kind === 'chain' ? extended(first, rest) : { kind: 'chain', first, rest }
}
