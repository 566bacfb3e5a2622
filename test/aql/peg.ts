import { Expected, type RuleName } from '../../src/aql/text/expected.ts'

/** A text and its failed rules. */
interface Input {
  readonly text: string
  readonly expected: Expected
  /** Step budget. There is no memoisation, so some texts would take exponential time. */
  steps: number
}

/** A parser combinator: returns the end position of the match, or `undefined`. */
type Rule = (input: Input, at: number) => number | undefined

/**
 * The grammar as a plain PEG parser without any optimisation. It only decides whether a text is a query and, if not,
 * what the syntax error is.
 */
export function pegError(text: string, steps: number): { place: number; message: string } | 'query' | 'too long' {
  const input: Input = { text, expected: new Expected(), steps }
  const end = main(input, 0)
  if (input.steps <= 0) return 'too long'
  return end === undefined ? { place: input.expected.position, message: input.expected.toString() } : 'query'
}

// ---- combinators ----

/** Matches a pattern at the current position. */
function match(pattern: RegExp): Rule {
  const sticky = new RegExp(pattern, 'uy')
  return (input, at) => {
    sticky.lastIndex = at
    const found = input.steps-- > 0 ? sticky.exec(input.text) : null
    return found === null ? undefined : at + found[0].length
  }
}

function rule(part: Rule | string): Rule {
  return typeof part === 'string' ? match(new RegExp(RegExp.escape(part), 'u')) : part
}

const blanks = match(/(?:\p{White_Space}|--[^\n\r]*)*/u)

function inOrder(parts: readonly Rule[], between: Rule): Rule {
  return (input, at) => {
    let end: number | undefined = at
    for (const [index, part] of parts.entries()) {
      if (index > 0 && end !== undefined) end = between(input, end)
      if (end !== undefined) end = part(input, end)
    }
    return end
  }
}

/** A sequence with trivia between its parts. */
function seq(...parts: readonly (Rule | string)[]): Rule {
  return inOrder(parts.map(rule), blanks)
}

/** A sequence without trivia between its parts. */
function glued(...parts: readonly (Rule | string)[]): Rule {
  return inOrder(parts.map(rule), (_, at) => at)
}

/** Ordered choice. */
function either(...parts: readonly (Rule | string)[]): Rule {
  const rules = parts.map(rule)
  return (input, at) => {
    for (const part of rules) {
      const end = part(input, at)
      if (end !== undefined) return end
    }
    return undefined
  }
}

function perhaps(part: Rule | string): Rule {
  return either(part, (_, at) => at)
}

/** Repetition, with trivia in between. */
function many(part: Rule, between: Rule = blanks): Rule {
  const more = inOrder([between, part], (_, at) => at)
  return (input, at) => {
    let end = at
    for (let next = part(input, at); next !== undefined; next = more(input, end)) end = next
    return end
  }
}

function list(part: Rule): Rule {
  return seq(part, many(seq(',', part)))
}

/** A named rule: errors report its name and start position. */
function named(name: RuleName, part: Rule | string): Rule {
  const inner = rule(part)
  return (input, at) => {
    const mark = input.expected.mark(at)
    const end = inner(input, at)
    if (end === undefined) input.expected.missed(name, at, mark)
    return end
  }
}

/** A forward reference to a rule. */
function later(name: () => Rule): Rule {
  return (input, at) => name()(input, at)
}

// ---- tokens ----

const expr = later(() => simpleExpr)
const ident = named('ident', match(/_|(?=\p{Lowercase}|\p{Uppercase}\p{Lowercase})[\p{Alphabetic}\p{N}_]+/u))
const digits = named('natural', match(/[0-9]+/u))
// A doubled quote never ends a string, not even when it is unterminated.
const filledString = named('string', match(/'(?:''|[^'])+'(?!')|"(?:""|[^"])+"(?!")/u))
const string = named('string', match(/'(?:''|[^'])+'(?!')|''|"(?:""|[^"])+"(?!")|""/u))
const unicode = named('unicode', match(/U\+[0-9A-Fa-f]{1,6}/u))
const template = named(
  'interpolation',
  glued('`', many(either(match(/[^`{]/u), glued('{', either(unicode, expr), '}')), glued('')), '`'),
)
const minute = glued(named('hour', match(/[01]\d|2[0-3]/u)), ':', named('minute', match(/[0-5]\d/u)))
const fraction = either(
  named('nanosecond', match(/\d{9}/u)),
  named('microsecond', match(/\d{6}/u)),
  named('millisecond', match(/\d{3}/u)),
)
const seconds = glued(':', named('second', match(/[0-5]\d/u)), perhaps(glued('.', fraction)))
const instant = glued(
  ...[named('year', match(/\d{4}/u)), '-', named('month', match(/0[1-9]|1[0-2]/u)), '-'],
  ...[named('day', match(/0[1-9]|[12]\d|3[01]/u)), perhaps(glued('T', minute, perhaps(seconds)))],
  either('Z', glued(named('sign', match(/[+-]/u)), minute)),
)
const unit = named('duration_unit', match(/[smhDWMY]/u))
const ago = named('duration_ago', glued(digits, unit, match(/\p{White_Space}ago/u)))
const streamId = named('stream_id', match(/[./0-9A-Za-z]{43}-\d+/u))
const eventKey = named('event_key', seq(digits, perhaps(seq('/', streamId))))

// ---- tags ----

const [and, or] = [named('and', match(/[&∧]/u)), named('or', match(/[|∨]/u))]
const [lt, le] = [named('lt', '<'), named('le', match(/<=|≤/u))]
const [gt, ge] = [named('gt', '>'), named('ge', match(/>=|≥/u))]
const comparison = either(le, lt, ge, gt)
const bound = either(instant, eventKey)
const tagAtom = either(
  named('tag', either(filledString, template)),
  seq(
    '(',
    later(() => tagExpr),
    ')',
  ),
  named('all_events', 'allEvents'),
  named('is_local', 'isLocal'),
  named('tag_from', seq('from(', bound, ')')),
  named('tag_to', seq('to(', bound, ')')),
  named('tag_app', glued('appId(', named('app_id', match(/[-0-9a-z]+(?:\.[-0-9a-z]+)*/u)), ')')),
  named('tag_key', seq('KEY', comparison, eventKey)),
  named('tag_time', seq('TIME', comparison, either(instant, ago))),
)
const tagExpr: Rule = named('tag_expr', seq(tagAtom, many(seq(either(and, or), tagAtom))))

// ---- values ----

const bracket = either(seq('[', digits, ']'), seq('[', string, ']'), seq('[', expr, ']'))
const indexes = many(either(seq('.', ident), bracket))
const item = seq(perhaps(named('spread', '...')), expr)
const array = named('array', either(seq('[', ']'), seq('[', list(item), ']')))
const entry = seq(either(ident, bracket), ':', expr, perhaps(','))
const clause = seq('CASE', expr, '=>', expr)
const functionName = named('func_name', match(/\p{Uppercase}\p{Lowercase}[\p{Alphabetic}\p{N}_]*/u))
const aggregator = named('aggr_op', match(/(?:SUM|PRODUCT|MIN|MAX|FIRST|LAST)\(/u))
const atom = either(
  named('decimal', match(/-?[0-9]+(?:\.[0-9]+)?/u)),
  seq(functionName, '(', perhaps(list(expr)), ')'),
  seq(ident, indexes),
  string,
  template,
  named('expr_index', seq('(', expr, ')', indexes)),
  named('object', seq('{', many(entry), '}')),
  array,
  named('null', 'NULL'),
  named('bool', match(/TRUE|FALSE/u)),
  named('simple_cases', seq(clause, many(clause), 'ENDCASE')),
  seq(aggregator, expr, ')'),
  later(() => query),
  named('meta_key', seq('KEY(', either(ident, eventKey), ')')),
  named('meta_time', seq('TIME(', either(ident, instant), ')')),
  named('meta_tags', seq('TAGS(', ident, ')')),
  named('meta_app', seq('APP(', ident, ')')),
)
const nots = many(named('not', match(/[!¬]/u)))
const operator = either(
  ...[named('alternative', '??'), or, named('xor', match(/[~⊻]/u)), and, named('ne', match(/!=|≠/u)), named('eq', '=')],
  ...[
    le,
    lt,
    ge,
    gt,
    named('add', '+'),
    named('sub', '-'),
    named('mul', match(/[*×]/u)),
    named('div', match(/[/÷⁄]/u)),
  ],
  ...[named('modulo', '%'), named('pow', '^')],
)
const simpleExpr: Rule = named('simple_expr', seq(nots, atom, many(seq(operator, nots, atom))))

// ---- queries ----

const order = named('query_order', seq('ORDER', named('order', match(/ASC|DESC|STREAM/u))))
const stage = either(
  named('filter', seq('FILTER', expr)),
  named('select', seq('SELECT', list(item))),
  named('aggregate', seq('AGGREGATE', expr)),
  named('limit', seq('LIMIT', named('positive', match(/[1-9][0-9]*/u)))),
  named('binding', seq('LET', ident, ':=', expr)),
)
const source = either(seq(tagExpr, perhaps(order)), array)
const query: Rule = named('query', seq('FROM', source, many(stage), perhaps('END')))
const pragma = match(
  /PRAGMA\p{White_Space}+[0-9A-Za-zø]+(?:(?![\r\n])\p{White_Space})*(?:(?:\r\n|\n|\r)[\s\S]*?(?:\r\n|\n|\r)ENDPRAGMA(?:\r\n|\n|\r)|:=[^\r\n]*(?:\r\n|\n|\r))/u,
)
const words = many(named('feature_word', match(/[0-9A-Za-zø]+/u)))
const features = named('preamble', seq('FEATURES(', words, ')'))
const main: Rule = named(
  'main_query',
  seq('', many(named('preamble', pragma)), perhaps(features), query, named('EOI', match(/(?![\s\S])/u))),
)
