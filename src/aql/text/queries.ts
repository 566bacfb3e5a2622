import type { MainQuery, Order, Pragma, Query, Source, Stage } from '../ast.ts'
import type { Name } from './expected.ts'
import { ExprRules } from './expressions.ts'
import { readPragma } from './pragmas.ts'

const stageNames: readonly Name[] = ['filter', 'select', 'aggregate', 'limit', 'binding']
const orders: readonly (readonly [string, Order])[] = [
  ['ASC', 'asc'],
  ['DESC', 'desc'],
  ['STREAM', 'stream-asc'],
]

/** Whole queries, with what stands before them. */
export class QueryRules extends ExprRules {
  readonly #noStage = new Set<number>()

  mainQuery(): MainQuery | undefined {
    const { reader } = this
    reader.skip()
    const pragmas: Pragma[] = []
    for (let pragma = readPragma(reader); pragma !== undefined; pragma = readPragma(reader)) pragmas.push(pragma)
    const features = this.#features() ?? []
    const query = this.query()
    const read = query && this.end() ? { ...query, pragmas, features } : undefined
    if (read === undefined) reader.expected.missed('main_query', 0, 0)
    return read
  }

  /** Nothing but the end of the text may stand here. */
  end(): boolean {
    if (this.reader.at === this.reader.text.length) return true
    this.reader.miss('EOI')
    return false
  }

  protected query(): Query | undefined {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    const source = reader.token('FROM') ? this.#source() : undefined
    if (source === undefined) {
      reader.at = start
      reader.expected.missed('query', start, mark)
      return undefined
    }
    const stages = this.#stages()
    reader.token('END')
    return { source, stages }
  }

  #features(): readonly string[] | undefined {
    const { reader } = this
    const read = this.enclosed('FEATURES(', () => this.#words(), ')')
    if (read === undefined) reader.miss('preamble')
    return read
  }

  #words(): readonly string[] {
    const words: string[] = []
    while (true) {
      const word = this.reader.match('feature_word', /[0-9A-Za-zø]+/y)
      if (word === undefined) return words
      this.reader.skip()
      words.push(word)
    }
  }

  #source(): Source | undefined {
    const tags = this.tagExpr()
    if (tags !== undefined) return { kind: 'events', tags, order: this.whole(() => this.#order()) }
    const items = this.array()
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

  #stages(): readonly Stage[] {
    const { reader } = this
    const stages: Stage[] = []
    while (true) {
      const start = reader.at
      // What is no stage here is none for the queries around this one either.
      const stage = this.#noStage.has(start) ? undefined : this.#stage()
      if (stage === undefined) {
        reader.at = start
        this.#noStage.add(start)
        reader.expected.missedAll(stageNames, start)
        return stages
      }
      stages.push(stage)
    }
  }

  #stage(): Stage | undefined {
    const { reader } = this
    if (reader.token('FILTER')) {
      const condition = this.expr()
      return condition && { kind: 'filter', condition }
    }
    if (reader.token('SELECT')) {
      const items = this.items()
      return items && { kind: 'select', items }
    }
    if (reader.token('AGGREGATE')) {
      const expr = this.expr()
      return expr && { kind: 'aggregate', expr }
    }
    if (reader.token('LIMIT')) return this.#limit()
    return reader.token('LET') ? this.#binding() : undefined
  }

  #limit(): Stage | undefined {
    const { reader } = this
    const start = reader.at
    const digits = reader.match('positive', /[1-9][0-9]*/y)
    if (digits === undefined) return undefined
    reader.skip()
    return { kind: 'limit', count: this.naturalOf(digits, start) }
  }

  #binding(): Stage | undefined {
    const name = this.variable()
    if (name === undefined || !this.reader.token(':=')) return undefined
    const expr = this.expr()
    return expr && { kind: 'let', name, expr }
  }
}
