import { isDeepStrictEqual } from 'node:util'
import type { AggregateOperator, Expr, Order, Query, Stage, TagExpr } from '../../../src/aql/ast.ts'
import { compareExpressions } from '../../../src/aql/eval/expression-order.ts'
import type { AqlEvent } from '../../../src/aql/values/event.ts'
import { childrenOf } from '../../../src/aql/walk.ts'
import { calculate, distinct, type Environment, evaluate, spreadable, truth } from './expressions.ts'
import { compare, json, notation, Problem, plain, read, type TaggedValue, type Traced } from './values.ts'

export interface NaiveRequest {
  readonly events: readonly AqlEvent[]
  readonly appId: string
  readonly order: Order
}

type Variables = ReadonlyMap<string, Traced>

/** A value between two stages with its environment, or a problem. */
type StageOutput = ScopedValue | Problem

interface ScopedValue {
  readonly value: Traced
  readonly scope: Variables
}

/** The messages of a query, computed stage by stage over the whole input. */
export function naiveMessages(query: Query, request: NaiveRequest): string[] {
  const lines: string[] = []
  try {
    for (const result of results(query, request, new Map(), request.order, true)) {
      lines.push(result instanceof Problem ? warning(result) : line(result.value))
      if (result instanceof Stop) return lines
    }
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown
    return [...lines, warning(thrown).replace('"warning"', '"error"')]
  }
  return [...lines, '{"type":"offsets"}']
}

/** A failed item of an array source: it ends the source. */
class Stop extends Problem {}

function warning({ message }: Problem): string {
  return JSON.stringify({ type: 'diagnostic', severity: 'warning', message })
}

function line({ thing, from }: Traced): string {
  const events = distinct(from)
  const [first, last] = [events[0], events.at(-1)]
  const place = ({ lamport, stream, offset }: AqlEvent) => ({
    lamport,
    stream: `${stream.node}-${stream.number}`,
    offset,
  })
  const nothing = { lamport: 0, stream: `${'.'.repeat(43)}-0`, offset: 0, timestamp: 0, tags: [], appId: 'none' }
  let fields: object = nothing
  if (first !== undefined && first === last) {
    const { time, tags, appId } = first
    fields = { ...place(first), timestamp: time, tags, appId }
  } else if (first !== undefined && last !== undefined) {
    const times = events.map(({ time }) => time)
    const range = {
      fromKey: place(first),
      toKey: place(last),
      fromTime: Math.min(...times),
      toTime: Math.max(...times),
    }
    fields = { ...range, ...nothing }
  }
  return `${JSON.stringify({ type: 'event', ...fields }).slice(0, -1)},"payload":${json(thing)}}`
}

/** A stage that is done stops the source, so it retries with one more input each time. */
function results(query: Query, request: NaiveRequest, outer: Variables, order: Order, isMain: boolean): StageOutput[] {
  const requested = orderOf(query) ?? order
  const used = !isMain && requested === 'stream-asc' ? 'asc' : requested
  const input = inputOf(query, request, outer, used)
  const stopping = query.source.kind === 'array' ? (isMain || used === 'desc' ? undefined : used) : used
  for (let count = 0; ; count++) {
    const taken = input.slice(0, count)
    const failed = taken.find((item) => item instanceof Problem)
    const passed = passes(query.stages, taken, request, outer, stopping)
    if (failed !== undefined) return [...passed.unflushed, failed]
    if (passed.done || count >= input.length) return passed.all
  }
}

function orderOf({ source, stages }: Query): Order | undefined {
  if (source.kind === 'events' && source.order !== undefined) return source.order
  for (const stage of stages) {
    const preferred = stage.kind === 'aggregate' ? preference(stage.expr) : undefined
    if (preferred !== undefined) return preferred
  }
  return undefined
}

function preference(expr: Expr): 'asc' | 'desc' | undefined {
  const operators = new Set(aggregatorsIn(expr).map(({ operator }) => operator))
  if (operators.size !== 1) return undefined
  return operators.has('FIRST') ? 'asc' : operators.has('LAST') ? 'desc' : undefined
}

type Aggregator = Extract<Expr, { kind: 'aggregator' }>

function aggregatorsIn(expr: Expr): Aggregator[] {
  return expr.kind === 'aggregator' ? [expr] : childrenOf(expr).flatMap(aggregatorsIn)
}

function environmentOf(
  request: NaiveRequest,
  variables: Variables,
  aggregated?: Environment['aggregated'],
): Environment {
  return {
    variables,
    nested: ({ query }, env) =>
      results(query, request, env.variables, 'asc', false).map((result) => {
        if (result instanceof Problem) throw new Problem(result.message)
        return result.value
      }),
    aggregated: aggregated ?? (() => assertNever()),
  }
}

function assertNever(): never {
  throw new Error('an aggregator outside of AGGREGATE')
}

function inputOf(query: Query, request: NaiveRequest, outer: Variables, order: Order): (Traced | Problem)[] {
  const { source } = query
  const env = environmentOf(request, outer)
  if (source.kind === 'array') {
    return source.items.flatMap(({ spread, expr }): (Traced | Problem)[] => {
      try {
        return items(spread, expr, env)
      } catch (thrown) {
        if (thrown instanceof Problem) return [new Stop(thrown.message)]
        throw thrown
      }
    })
  }
  const holds = condition(source.tags, env, request.appId)
  const selected = request.events.filter(holds).toSorted((a, b) => a.lamport - b.lamport)
  if (order === 'desc') selected.reverse()
  return selected.map((event) => ({ thing: read(event.payload), from: [event] }))
}

function items(spread: boolean, expr: Expr, env: Environment): Traced[] {
  if (spread && expr.kind === 'query') return [...env.nested(expr, env)]
  const { thing, from } = evaluate(expr, env)
  return spread ? spreadable(thing).map((item) => ({ thing: item, from })) : [{ thing, from }]
}

function condition(tags: TagExpr, env: Environment, me: string): (event: AqlEvent) => boolean {
  switch (tags.kind) {
    case 'tag':
      return (event) => event.tags.includes(tags.tag)
    case 'template': {
      const tag = plain(evaluate(tags, env).thing).normalize('NFC')
      if (tag === '') throw new Problem('Empty string is not permissible for Tag')
      return (event) => event.tags.includes(tag)
    }
    case 'allEvents':
      return () => true
    case 'isLocal':
      return (event) => event.own
    case 'appId':
      return (event) => event.appId === (tags.appId === 'me' ? me : tags.appId)
    case 'time':
      return (event) => inequality(BigInt(event.time), tags.comparison, tags.time)
    case 'key':
      // A key without a stream sorts before all events of its lamport timestamp.
      return (event) => inequality(2n * BigInt(event.lamport) + 1n, tags.comparison, 2n * tags.key.lamport)
    case 'chain': {
      const first = condition(tags.first, env, me)
      const rest = tags.rest.map(({ operator, operand }) => ({ operator, holds: condition(operand, env, me) }))
      return (event) =>
        rest.reduce(
          (sum, { operator, holds }) => (operator === 'and' ? sum && holds(event) : sum || holds(event)),
          first(event),
        )
    }
  }
}

function inequality(a: bigint, operator: '<' | '<=' | '>' | '>=', b: bigint): boolean {
  return { '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b }[operator]
}

interface Passed {
  readonly all: StageOutput[]
  /** The results before the final flush. */
  readonly unflushed: StageOutput[]
  readonly done: boolean
}

/** Evaluates one stage over its whole input, then the next over the whole output. */
function passes(
  stages: readonly Stage[],
  input: readonly (Traced | Problem)[],
  request: NaiveRequest,
  outer: Variables,
  order: Order | undefined,
): Passed {
  const fed = input.flatMap((value): StageOutput[] =>
    value instanceof Problem ? [] : [{ value, scope: new Map(outer).set('_', value) }],
  )
  let all: StageOutput[] = fed
  let unflushed: StageOutput[] = fed
  let done = false
  for (const stage of stages) {
    const before = [...all]
    const step = through(stage, unflushed, request)
    done ||= isDone(stage, unflushed, order, request)
    unflushed = step
    all = stage.kind === 'aggregate' ? aggregated(stage.expr, before, request, outer) : through(stage, before, request)
  }
  return { all, unflushed, done }
}

function isDone(stage: Stage, input: readonly StageOutput[], order: Order | undefined, request: NaiveRequest): boolean {
  const values = input.filter((passing): passing is ScopedValue => !(passing instanceof Problem))
  // An earlier failure settles it too.
  if (stage.kind === 'aggregate' && aggregatorsIn(stage.expr).length === 0) return input.length > 0
  if (stage.kind === 'limit') return BigInt(values.length) >= stage.count
  if (stage.kind !== 'aggregate' || values.length === 0) return false
  const aggregators = aggregatorsIn(stage.expr)
  if (preference(stage.expr) === undefined || preference(stage.expr) !== order) return false
  return aggregators.every(({ argument }) =>
    values.some(({ scope }) => !(attempt(() => evaluate(argument, environmentOf(request, scope))) instanceof Problem)),
  )
}

function attempt<T>(work: () => T): T | Problem {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof Problem) return thrown
    throw thrown
  }
}

function through(stage: Stage, input: readonly StageOutput[], request: NaiveRequest): StageOutput[] {
  if (stage.kind === 'aggregate') return complaints(stage.expr, input, request)
  let left = stage.kind === 'limit' ? stage.count : 0n
  return input.flatMap((passing) => {
    if (passing instanceof Problem) return [passing]
    if (stage.kind === 'limit') return left-- > 0n ? [passing] : []
    return one(stage, passing, environmentOf(request, passing.scope))
  })
}

function one(
  stage: Exclude<Stage, { kind: 'aggregate' | 'limit' }>,
  passing: ScopedValue,
  env: Environment,
): StageOutput[] {
  const { value, scope } = passing
  switch (stage.kind) {
    case 'filter': {
      const kept = attempt(() => truth(evaluate(stage.condition, env)))
      return kept instanceof Problem ? [kept] : kept ? [passing] : []
    }
    case 'let': {
      const bound = attempt(() => evaluate(stage.expr, env))
      if (bound instanceof Problem) return [bound]
      return [{ value: stage.name === '_' ? bound : value, scope: new Map(scope).set(stage.name, bound) }]
    }
    case 'select':
      return stage.items.flatMap(({ spread, expr }): StageOutput[] => {
        const found = attempt(() => items(spread, expr, env))
        if (found instanceof Problem) return [found]
        return found.map((item) => ({ value: item, scope: new Map(scope).set('_', item) }))
      })
  }
}

const inOrder: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']
const same = (a: Expr, b: Expr): boolean => isDeepStrictEqual(a, b)

/** The problems that an AGGREGATE stage reports while it is fed: one per failing argument. */
function complaints(expr: Expr, input: readonly StageOutput[], request: NaiveRequest): StageOutput[] {
  const all = aggregatorsIn(expr)
  const once = all.filter((one, at) => all.findIndex((other) => same(one, other)) === at)
  once.sort(
    (a, b) => inOrder.indexOf(a.operator) - inOrder.indexOf(b.operator) || compareExpressions(a.argument, b.argument),
  )
  return input.flatMap((passing): StageOutput[] => {
    if (passing instanceof Problem) return [passing]
    const env = environmentOf(request, passing.scope)
    return once
      .map(({ argument }) => attempt(() => evaluate(argument, env)))
      .filter((result) => result instanceof Problem)
  })
}

function aggregated(expr: Expr, input: readonly StageOutput[], request: NaiveRequest, outer: Variables): StageOutput[] {
  const result = attempt(() => {
    const env = environmentOf(request, outer, ({ operator, argument }) => {
      const inputs = input.flatMap((passing): Traced[] => {
        const value =
          passing instanceof Problem
            ? passing
            : attempt(() => evaluate(argument, environmentOf(request, passing.scope)))
        return value instanceof Problem ? [] : [value]
      })
      return total(operator, inputs)
    })
    const value = evaluate(expr, env)
    return { value, scope: new Map(outer).set('_', value) }
  })
  return [...complaints(expr, input, request), result]
}

function total(operator: AggregateOperator, inputs: readonly Traced[]): Traced {
  const [first, ...others] = inputs
  if (first === undefined) throw new Problem('no value added')
  const edge = (best: (candidate: Traced, known: Traced) => boolean): Traced =>
    others.reduce((known, candidate) => (best(candidate, known) ? candidate : known), first)
  switch (operator) {
    case 'SUM':
    case 'PRODUCT':
      return { thing: sum(operator, inputs), from: inputs.flatMap(({ from }) => from) }
    case 'MIN':
      return edge((a, b) => comparable('min', b, a) > 0)
    case 'MAX':
      return edge((a, b) => comparable('max', b, a) < 0)
    case 'FIRST':
      return edge((a, b) => place(a, 1) < place(b, 1))
    case 'LAST':
      return edge((a, b) => place(a, -1) > place(b, -1) || (a.from.length === 0 && b.from.length === 0))
  }
}

/** Orders by the first and then the last event, or vice versa. Values without metadata sort first. */
function place({ from }: Traced, side: 1 | -1): number {
  const lamports = from.map(({ lamport }) => lamport)
  if (lamports.length === 0) return -1
  const [least, most] = [Math.min(...lamports), Math.max(...lamports)]
  return side === 1 ? least * 1e6 + most : most * 1e6 + least
}

function comparable(name: string, a: Traced, b: Traced): number {
  const sign = compare(a.thing, b.thing)
  if (sign === undefined)
    throw new Problem(
      `incompatible types in ${name}: cannot compare <from>: ${notation(a.thing)} to <from>: ${notation(b.thing)}`,
    )
  return sign
}

function sum(operator: 'SUM' | 'PRODUCT', inputs: readonly Traced[]): TaggedValue {
  const isAboutTruth = inputs[0]?.thing.is === 'Bool'
  const result = attempt((): TaggedValue => {
    if (!isAboutTruth) {
      const neutral: TaggedValue = { is: 'Natural', natural: operator === 'SUM' ? 0n : 1n }
      const step = (known: TaggedValue, { thing }: Traced) => calculate(operator === 'SUM' ? '+' : '*', known, thing)
      const [first, ...others] = inputs
      // A single -0.0 keeps its sign.
      return first?.thing.is === 'Decimal' ? others.reduce(step, first.thing) : inputs.reduce(step, neutral)
    }
    const truths = inputs.map(truth)
    return { is: 'Bool', bool: operator === 'SUM' ? truths.includes(true) : !truths.includes(false) }
  })
  if (result instanceof Problem) throw new Problem(`incompatible types in sum: ${result.message}`)
  return result
}
