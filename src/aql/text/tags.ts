import type { Inequality, Micros, TagAtom, TagChain, TagExpr, Template } from '../ast.ts'
import type { Nested } from '../steps.ts'
import { readAppId } from './app-id.ts'
import { readKey } from './event-keys.ts'
import type { RuleName } from './expected.ts'
import { readAgo, readInstant, type Time } from './instants.ts'
import { extended, groupByPrecedence } from './precedence.ts'
import { Rules } from './rules.ts'
import { readFilledString } from './strings.ts'
import type { Reader } from './text-reader.ts'

const atomNames: readonly RuleName[] = [
  ...(['tag', 'all_events', 'is_local', 'tag_from', 'tag_to', 'tag_app', 'tag_key', 'tag_time'] as const),
]
const precedence = new Map<'and' | 'or', number>([
  ['or', 0],
  ['and', 1],
])
const inequalities: readonly (readonly [string, Inequality])[] = [
  ['<=', '<='],
  ['≤', '<='],
  ['<', '<'],
  ['>=', '>='],
  ['≥', '>='],
  ['>', '>'],
]

/** Grammar rules of tag expressions. */
export abstract class TagRules extends Rules {
  readonly #now: Micros

  constructor(reader: Reader, now: Micros) {
    super(reader)
    this.#now = now
  }

  protected abstract template(): Nested<Template | undefined>

  /** Whether a template literal begins here. */
  protected isTemplate(): boolean {
    return this.reader.text[this.reader.at] === '`'
  }

  protected tagExprSteps(): Nested<TagExpr | undefined> {
    return this.nested(() => this.#expr())
  }

  *#expr(): Nested<TagExpr | undefined> {
    const { reader } = this
    const start = reader.at
    const mark = reader.expected.mark(start)
    const first = this.#tag() ?? (yield* this.#atom())
    if (first === undefined) {
      reader.expected.missed('tag_expr', start, mark)
      return undefined
    }
    const rest: { operator: 'and' | 'or'; operand: TagExpr }[] = []
    while (true) {
      const before = reader.at
      const operator = this.#operator()
      const operand = operator === undefined ? undefined : (this.#tag() ?? (yield* this.#atom()))
      if (operator === undefined || operand === undefined) {
        // Backtrack: the operator may belong to an expression that encloses this query.
        reader.at = before
        return rest.length === 0 ? first : yield* groupByPrecedence({ first, rest }, precedence, tagChain, reader)
      }
      rest.push({ operator, operand })
      if (reader.isDue()) yield undefined
    }
  }

  #operator(): 'and' | 'or' | undefined {
    const { reader } = this
    if (reader.token('&') || reader.token('∧')) return 'and'
    if (reader.token('|') || reader.token('∨')) return 'or'
    reader.expected.missedAll(['and', 'or'], reader.at)
    return undefined
  }

  /** Every atom but a plain tag. */
  *#atom(): Nested<TagExpr | undefined> {
    const { reader } = this
    const start = reader.at
    const read =
      (this.isTemplate() ? yield* this.#template() : undefined) ??
      (reader.text[start] === '(' ? yield* this.#group() : undefined) ??
      this.backtracking(() => this.#named()) ??
      this.backtracking(() => this.#range())
    if (read === undefined) reader.expected.missedAll(atomNames, start)
    return read
  }

  #tag(): TagAtom | undefined {
    const tag = readFilledString(this.reader)
    // Published tags are normalised to NFC, so the query has to match that.
    return tag === undefined ? undefined : { kind: 'tag', tag: tag.normalize('NFC') }
  }

  *#template(): Nested<TagAtom | undefined> {
    const parts = yield* this.template()
    return parts && { kind: 'template', parts }
  }

  *#group(): Nested<TagExpr | undefined> {
    this.enter(1)
    const read = yield* this.enclosedNested('(', () => this.tagExprSteps(), ')')
    this.leave(1)
    return read
  }

  #named(): TagAtom | undefined {
    const { reader } = this
    if (reader.token('allEvents')) return { kind: 'allEvents' }
    if (reader.token('isLocal')) return { kind: 'isLocal' }
    if (!reader.literal('appId(')) return undefined
    const appId = readAppId(reader)
    return appId !== undefined && reader.token(')') ? { kind: 'appId', appId } : undefined
  }

  #range(): TagAtom | undefined {
    const { reader } = this
    const bound =
      this.enclosed('from(', () => this.#bound('>='), ')') ?? this.enclosed('to(', () => this.#bound('<'), ')')
    if (bound !== undefined) return bound
    const what = reader.token('KEY') ? 'key' : reader.token('TIME') ? 'time' : undefined
    const comparison = what && this.#comparison()
    if (comparison === undefined) return undefined
    if (what === 'key') return this.#key(comparison)
    return this.#time(comparison, readInstant) ?? this.#time(comparison, (times) => readAgo(times, this.#now))
  }

  #bound(comparison: Inequality): TagAtom | undefined {
    return this.#time(comparison, readInstant) ?? this.#key(comparison)
  }

  #comparison(): Inequality | undefined {
    const { reader } = this
    const found = inequalities.find(([spelling]) => reader.token(spelling))
    if (found === undefined) reader.expected.missedAll(['lt', 'le', 'gt', 'ge'], reader.at)
    return found?.[1]
  }

  #time(comparison: Inequality, read: (reader: Reader) => Time | undefined): TagAtom | undefined {
    const start = this.reader.at
    const time = read(this.reader)
    return time && { kind: 'time', comparison, time: this.timeOf(time, start) }
  }

  #key(comparison: Inequality): TagAtom | undefined {
    const start = this.reader.at
    const key = readKey(this.reader)
    return key && { kind: 'key', comparison, key: this.keyOf(key, start) }
  }
}

function tagChain(first: TagExpr, rest: TagChain['rest']): TagChain {
  return first.kind === 'chain' ? extended(first, rest) : { kind: 'chain', first, rest }
}
