/** The names of constructs, in the order in which an error lists them. */
const names = [
  ...['EOI', 'main_query', 'query', 'query_order', 'order', 'filter', 'select', 'aggregate', 'limit', 'binding'],
  ...['feature_word', 'interpolation', 'string', 'null', 'bool', 'decimal', 'natural', 'positive', 'sign', 'unicode'],
  ...['event_key', 'object', 'array', 'app_id', 'stream_id', 'ident', 'func_name', 'year', 'month', 'day', 'hour'],
  ...['minute', 'second', 'millisecond', 'microsecond', 'nanosecond', 'duration_ago', 'duration_unit', 'meta_key'],
  ...['meta_time', 'meta_tags', 'meta_app', 'tag_expr', 'tag', 'all_events', 'is_local', 'tag_from', 'tag_to'],
  ...['tag_app', 'tag_key', 'tag_time', 'simple_expr', 'expr_index', 'simple_cases', 'aggr_op', 'add', 'sub', 'mul'],
  ...['div', 'modulo', 'pow', 'and', 'or', 'not', 'xor', 'lt', 'le', 'gt', 'ge', 'eq', 'ne', 'alternative', 'spread'],
] as const

/** A preamble counts as something that was tried, but no error names it. */
export type Name = (typeof names)[number] | 'preamble'

/**
 * What could have stood at the last place that anything was tried at. Errors have to name the same place and the same
 * constructs as those of a PEG parser do, so the rules here are the rules of such a parser:
 * of the constructs that were tried in vain only those that started last count, and a construct stands for its parts
 * when two or more of them (or none) failed where it started itself.
 */
export class Expected {
  #place = 0
  #names: Name[] = []

  get place(): number {
    return this.#place
  }

  /** How many constructs failed at a place so far; to be handed to `missed` by a construct that starts there. */
  mark(start: number): number {
    return start === this.#place ? this.#names.length : 0
  }

  /** A construct with named parts was not there. */
  missed(name: Name, start: number, mark: number): void {
    if (start < this.#place) return
    if (start === this.#place && this.#names.length === mark + 1) return
    this.#names.length = start === this.#place ? mark : 0
    this.#place = start
    this.#names.push(name)
  }

  /** None of these constructs, which have no named parts, was there. */
  missedAll(missing: readonly Name[], start: number): void {
    if (start < this.#place) return
    if (start > this.#place) this.#names.length = 0
    this.#place = start
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
