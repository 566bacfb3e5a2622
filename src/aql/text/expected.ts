/** The names of grammar rules, in the order in which a syntax error lists them. */
const names = [
  ...['EOI', 'main_query', 'query', 'query_order', 'order', 'filter', 'select', 'aggregate', 'limit', 'binding'],
  ...['feature_word', 'interpolation', 'string', 'null', 'bool', 'decimal', 'natural', 'positive', 'sign', 'unicode'],
  ...['event_key', 'object', 'array', 'app_id', 'stream_id', 'ident', 'func_name', 'year', 'month', 'day', 'hour'],
  ...['minute', 'second', 'millisecond', 'microsecond', 'nanosecond', 'duration_ago', 'duration_unit', 'meta_key'],
  ...['meta_time', 'meta_tags', 'meta_app', 'tag_expr', 'tag', 'all_events', 'is_local', 'tag_from', 'tag_to'],
  ...['tag_app', 'tag_key', 'tag_time', 'simple_expr', 'expr_index', 'simple_cases', 'aggr_op', 'add', 'sub', 'mul'],
  ...['div', 'modulo', 'pow', 'and', 'or', 'not', 'xor', 'lt', 'le', 'gt', 'ge', 'eq', 'ne', 'alternative', 'spread'],
] as const

/** The preamble is tracked like a rule, but no error names it. */
export type RuleName = (typeof names)[number] | 'preamble'

/**
 * Tracks the furthest failure, like a PEG parser does: errors must report the same position and the same rules as the
 * reference. Of the rules that failed only those that started furthest right count. A rule replaces its parts when two
 * or more of them (or none) failed at its own start.
 */
export class Expected {
  #position = 0
  #names: RuleName[] = []

  get position(): number {
    return this.#position
  }

  /** How many rules have failed at this position so far. A rule that starts there passes it to `missed`. */
  mark(start: number): number {
    return start === this.#position ? this.#names.length : 0
  }

  /** Records the failure of a rule that has named parts. */
  missed(name: RuleName, start: number, mark: number): void {
    if (start < this.#position) return
    if (start === this.#position && this.#names.length === mark + 1) return
    this.#names.length = start === this.#position ? mark : 0
    this.#position = start
    this.#names.push(name)
  }

  /** Records the failure of rules without named parts. */
  missedAll(missing: readonly RuleName[], start: number): void {
    if (start < this.#position) return
    if (start > this.#position) this.#names.length = 0
    this.#position = start
    this.#names.push(...missing)
  }

  /** `expected a`, `expected a or b`, `expected a, b, or c` */
  toString(): string {
    const missing = names.filter((name) => this.#names.includes(name))
    const last = missing.pop() ?? ''
    if (missing.length === 0) return `expected ${last}`
    return `expected ${missing.join(', ')}${missing.length > 1 ? ',' : ''} or ${last}`
  }
}
