import type { BinaryOperator, Expr } from '../../../src/aql/ast.ts'
import type { AqlEvent } from '../../../src/aql/values/event.ts'
import {
  compare,
  decimal,
  double,
  kind,
  list,
  natural,
  notation,
  Problem,
  plain,
  type TaggedValue,
  type Traced,
  text,
  yes,
} from './values.ts'

/** The environment of an expression. */
export interface Environment {
  readonly variables: ReadonlyMap<string, Traced>
  /** Evaluates a sub-query. */
  nested(query: Extract<Expr, { kind: 'query' }>, env: Environment): readonly Traced[]
  /** The result of an aggregator, or a problem. */
  aggregated(expr: Extract<Expr, { kind: 'aggregator' }>): Traced
}

const made = (thing: TaggedValue, ...parts: readonly Traced[]): Traced => ({
  thing,
  from: parts.flatMap(({ from }) => from),
})

export function evaluate(expr: Expr, env: Environment): Traced {
  const go = (part: Expr): Traced => evaluate(part, env)
  switch (expr.kind) {
    case 'null':
      return made({ is: 'Null' })
    case 'bool':
      return made(yes(expr.value))
    case 'natural':
      return made(natural(expr.value))
    case 'decimal':
      return made(decimal(expr.value))
    case 'string':
      return made(text(expr.value))
    case 'timeLiteral':
      return made({ is: 'Timestamp', micros: expr.time })
    case 'keyLiteral':
      throw new Error('not generated')
    case 'variable':
      return lookup(env, expr.name)
    case 'meta': {
      const traced = lookup(env, expr.variable)
      return { thing: metadata(expr.what, distinct(traced.from)), from: traced.from }
    }
    case 'template': {
      const parts = expr.parts.map((part) => (typeof part === 'string' ? made(text(part)) : go(part)))
      return made(text(parts.map(({ thing }) => plain(thing)).join('')), ...parts)
    }
    case 'array': {
      const parts = expr.items.map(({ spread, expr: item }) => {
        const { thing, from } = go(item)
        return { things: spread ? spreadable(thing) : [thing], from }
      })
      return { thing: list(parts.flatMap(({ things }) => things)), from: parts.flatMap(({ from }) => from) }
    }
    case 'object': {
      const pairs = expr.entries.map(({ key, value }) => [go(key), go(value)] as const)
      return made(objectOf(pairs.map(([key, value]) => [key.thing, value.thing])), ...pairs.flat())
    }
    case 'index': {
      const [head, ...path] = [go(expr.head), ...expr.path.map(go)]
      return { thing: path.reduce((thing, step) => property(thing, step), head.thing), from: head.from }
    }
    case 'not': {
      const operand = go(expr.operand)
      return { thing: yes(!truth(operand)), from: operand.from }
    }
    case 'case': {
      const clause = expr.clauses.find(({ condition }) => {
        const result = quietly(() => go(condition))
        return result?.thing.is === 'Bool' && result.thing.bool
      })
      if (clause === undefined) throw new Problem('no case matched')
      return go(clause.value)
    }
    case 'call': {
      if (expr.name !== 'IsDefined') throw new Problem(`undefined function '${expr.name}'`)
      const [argument] = expr.arguments
      return made(yes(argument !== undefined && quietly(() => go(argument)) !== undefined))
    }
    case 'query': {
      const results = env.nested(expr, env)
      return made(list(results.map(({ thing }) => thing)), ...results)
    }
    case 'aggregator':
      return env.aggregated(expr)
    case 'chain':
      return chain(expr, go)
  }
}

function quietly(work: () => Traced): Traced | undefined {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof Problem) return undefined
    throw thrown
  }
}

function lookup({ variables }: Environment, name: string): Traced {
  const found = variables.get(name)
  if (found === undefined) throw new Problem(`variable \`${name}\` is not bound`)
  return found
}

/** Events sorted by key, without duplicates. */
export function distinct(events: readonly AqlEvent[]): AqlEvent[] {
  const byPlace = new Map(events.map((event) => [event.lamport, event]))
  return [...byPlace.values()].sort((a, b) => a.lamport - b.lamport)
}

function metadata(what: 'key' | 'time' | 'tags' | 'app', events: readonly AqlEvent[]): TaggedValue {
  const [first, last] = [events[0], events.at(-1)]
  if (first === undefined || last === undefined) return list([])
  const ends = first === last ? [first] : [first, last]
  if (what === 'key') throw new Error('not generated')
  if (what === 'time') {
    const times = events.map(({ time }) => time).sort((a, b) => a - b)
    const edges = first === last ? [first.time] : [times[0] ?? 0, times.at(-1) ?? 0]
    return list(edges.map((time) => ({ is: 'Timestamp', micros: BigInt(time) })))
  }
  if (ends.length > 1) return list([])
  return list(what === 'app' ? [text(first.appId)] : [...new Set(first.tags)].sort().map(text))
}

export function spreadable(thing: TaggedValue): readonly TaggedValue[] {
  if (thing.is !== 'Array') throw new Problem(`cannot spread a value of type ${kind(thing)}`)
  return thing.items
}

export function truth({ thing }: Traced): boolean {
  if (thing.is !== 'Bool') throw new Problem(`<from>: ${notation(thing)} is not a bool`)
  return thing.bool
}

function objectOf(pairs: readonly (readonly [TaggedValue, TaggedValue])[]): TaggedValue {
  const rank = (key: TaggedValue) => ['Natural', 'String', 'Bool', 'Decimal', 'Negative'].indexOf(key.is)
  const length = (key: TaggedValue) => (key.is === 'String' ? Buffer.byteLength(key.text) : 0)
  const order = (a: TaggedValue, b: TaggedValue) => rank(a) - rank(b) || length(a) - length(b) || (compare(a, b) ?? 0)
  const wrong = pairs.find(([key]) => rank(key) < 0)
  if (wrong) throw new Problem(`a value of type ${kind(wrong[0])} cannot be the key of an object`)
  const last = pairs.filter(([key], at) => !pairs.slice(at + 1).some(([other]) => order(key, other) === 0))
  return { is: 'Object', entries: last.toSorted(([a], [b]) => order(a, b)) }
}

function property(thing: TaggedValue, { thing: index }: Traced): TaggedValue {
  if (index.is !== 'String' && index.is !== 'Natural') throw new Problem(`cannot index by <from>: ${notation(index)}`)
  const found =
    thing.is === 'Array' && index.is === 'Natural'
      ? thing.items[Number(index.natural)]
      : thing.is === 'Object'
        ? thing.entries.find(([key]) => key.is === index.is && compare(key, index) === 0)?.[1]
        : undefined
  if (found === undefined) throw new Problem(`property \`${plain(index)}\` not found in ${kind(thing)}`)
  return found
}

function chain({ first, rest }: Extract<Expr, { kind: 'chain' }>, go: (expr: Expr) => Traced): Traced {
  let left = (): Traced => go(first)
  for (const { operator, operand } of rest) {
    const before = left
    left = () => {
      if (operator === '??') return quietly(before) ?? go(operand)
      const [a, b] = [before(), go(operand)]
      return made(apply(operator, a, b), a, b)
    }
  }
  return left()
}

function apply(operator: Exclude<BinaryOperator, '??'>, a: Traced, b: Traced): TaggedValue {
  switch (operator) {
    case '&':
      return yes(truth(a) && truth(b))
    case '|':
      return yes(truth(a) || truth(b))
    case '~':
      return yes(truth(a) !== truth(b))
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '^':
      return calculate(operator, a.thing, b.thing)
    default: {
      const sign = compare(a.thing, b.thing)
      if (sign === undefined)
        throw new Problem(`binary operation ${operator} cannot be applied to ${kind(a.thing)} and ${kind(b.thing)}`)
      return yes(
        { '=': sign === 0, '!=': sign !== 0, '<': sign < 0, '<=': sign <= 0, '>': sign > 0, '>=': sign >= 0 }[operator],
      )
    }
  }
}

export function calculate(operator: '+' | '-' | '*' | '/' | '%' | '^', a: TaggedValue, b: TaggedValue): TaggedValue {
  for (const thing of [a, b])
    if (double(thing) === undefined) throw new Problem(`\`${plain(thing)}\` is not of type Number`)
  if (a.is === 'Natural' && b.is === 'Natural') return natural(integers(operator, a.natural, b.natural))
  const [x, y] = [double(a) ?? 0, double(b) ?? 0]
  const result = { '+': x + y, '-': x - y, '*': x * y, '/': x / y, '%': x % y, '^': x ** y }[operator]
  if (Number.isNaN(result)) throw new Problem('not a number')
  if (result === Number.POSITIVE_INFINITY) throw new Problem('floating-point overflow')
  if (result === Number.NEGATIVE_INFINITY) throw new Problem('floating-point underflow')
  return decimal(result)
}

function integers(operator: '+' | '-' | '*' | '/' | '%' | '^', a: bigint, b: bigint): bigint {
  if ((operator === '/' || operator === '%') && b === 0n) throw new Problem('division by zero')
  // Larger powers overflow, and computing them would take forever.
  if (operator === '^' && (b >= 2n ** 32n || (a > 1n && b > 64n))) throw new Problem('integer overflow')
  const results = {
    '+': () => a + b,
    '-': () => a - b,
    '*': () => a * b,
    '/': () => a / b,
    '%': () => a % b,
    '^': () => (a <= 1n ? (b === 0n ? 1n : a) : a ** b),
  }
  const result = results[operator]()
  if (result < 0n || result >= 2n ** 64n) throw new Problem('integer overflow')
  return result
}
