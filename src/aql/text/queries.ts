import type { Expr, MainQuery, Order, Pragma, Query, Source, Stage, TagExpr } from '../ast.ts'
import { type Nested, runToEnd, type Steps, trampoline } from '../steps.ts'
import type { RuleName } from './expected.ts'
import { ExprRules } from './expressions.ts'
import { readPragma } from './pragmas.ts'

const stageNames: readonly RuleName[] = ['filter', 'select', 'aggregate', 'limit', 'binding']
const orders: readonly (readonly [string, Order])[] = [
  ['ASC', 'asc'],
  ['DESC', 'desc'],
  ['STREAM', 'stream-asc'],
]

/** Grammar rules of queries, including the preamble. */
export class QueryRules extends ExprRules {
  readonly #failedStages = new Set<number>()

  /** Parses a whole text without yielding. */
  mainQuery(): MainQuery | undefined {
    return runToEnd(this.mainQuerySteps())
  }

  expr(): Expr | undefined {
    return runToEnd(trampoline(this.exprSteps()))
  }

  tagExpr(): TagExpr | undefined {
    return runToEnd(trampoline(this.tagExprSteps()))
  }

  /** Cooperative variant: yields between units of work. */
  mainQuerySteps(): Steps<MainQuery | undefined> {
    return trampoline(this.#mainQuery())
  }

  *#mainQuery(): Nested<MainQuery | undefined> {
    const { reader } = this
    reader.skipTrivia()
    const pragmas: Pragma[] = []
    for (let pragma = readPragma(reader); pragma !== undefined; pragma = readPragma(reader)) {
      pragmas.push(pragma)
      if (reader.isDue()) yield undefined
    }
    const features = (yield* this.#features()) ?? []
    const query = yield* this.query()
    const read = query && this.end() ? { ...query, pragmas, features } : undefined
    if (read === undefined) reader.expected.missed('main_query', 0, 0)
    return read
  }

  /** Requires the end of input (EOI). */
  end(): boolean {
    if (this.reader.at === this.reader.text.length) return true
    this.reader.miss('EOI')
    return false
  }

  protected *query(): Nested<Query | undefined> {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    const source = reader.token('FROM') ? yield* this.#source() : undefined
    if (source === undefined) {
      reader.at = start
      reader.expected.missed('query', start, mark)
      return undefined
    }
    const stages: Stage[] = []
    for (let stage = yield* this.#stage(); stage !== undefined; stage = yield* this.#stage()) {
      stages.push(stage)
      if (reader.isDue()) yield undefined
    }
    reader.token('END')
    return { source, stages }
  }

  *#features(): Nested<readonly string[] | undefined> {
    const { reader } = this
    const read = yield* this.enclosedNested('FEATURES(', () => this.#words(), ')')
    if (read === undefined) reader.miss('preamble')
    return read
  }

  *#words(): Nested<readonly string[]> {
    const words: string[] = []
    while (true) {
      const word = this.reader.match('feature_word', /[0-9A-Za-zø]+/y)
      if (word === undefined) return words
      this.reader.skipTrivia()
      words.push(word)
      if (this.reader.isDue()) yield undefined
    }
  }

  *#source(): Nested<Source | undefined> {
    const tags = yield* this.tagExprSteps()
    if (tags !== undefined) return { kind: 'events', tags, order: this.backtracking(() => this.#order()) }
    const items = yield* this.array()
    return items && { kind: 'array', items }
  }

  #order(): Order | undefined {
    const { reader } = this
    if (!reader.token('ORDER')) {
      reader.miss('query_order')
      return undefined
    }
    const found = orders.find(([spelling]) => reader.token(spelling))
    if (found === undefined) reader.miss('order')
    return found?.[1]
  }

  *#stage(): Nested<Stage | undefined> {
    const { reader } = this
    const start = reader.at
    // Memoised: enclosing queries would try the same stage again.
    if (!this.#failedStages.has(start)) {
      let stage: Stage | undefined
      if (reader.token('FILTER')) {
        const condition = yield* this.exprSteps()
        stage = condition && { kind: 'filter', condition }
      } else if (reader.token('SELECT')) {
        const items = yield* this.items()
        stage = items && { kind: 'select', items }
      } else if (reader.token('AGGREGATE')) {
        const expr = yield* this.exprSteps()
        stage = expr && { kind: 'aggregate', expr }
      } else if (reader.token('LIMIT')) stage = this.#limit()
      else if (reader.token('LET')) stage = yield* this.#binding()
      if (stage !== undefined) return stage
    }
    reader.at = start
    this.#failedStages.add(start)
    reader.expected.missedAll(stageNames, start)
    return undefined
  }

  #limit(): Stage | undefined {
    const { reader } = this
    const start = reader.at
    const digits = reader.match('positive', /[1-9][0-9]*/y)
    if (digits === undefined) return undefined
    reader.skipTrivia()
    return { kind: 'limit', count: this.naturalOf(digits, start) }
  }

  *#binding(): Nested<Stage | undefined> {
    const name = this.variable()
    if (name === undefined || !this.reader.token(':=')) return undefined
    const expr = yield* this.exprSteps()
    return expr && { kind: 'let', name, expr }
  }
}
