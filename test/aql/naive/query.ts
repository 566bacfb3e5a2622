import { isDeepStrictEqual } from 'node:util'
import type { AggregateOperator, Expr, Order, Query, Stage, TagExpr } from '../../../src/aql/ast.ts'
import { compareExpressions } from '../../../src/aql/eval/expression-order.ts'
import type { AqlEvent } from '../../../src/aql/values/event.ts'
import { childrenOf } from '../../../src/aql/walk.ts'
import { calculate, distinct, evaluate, spreadable, truth, type World } from './expressions.ts'
import { compare, json, notation, Problem, plain, read, type Thing, type Traced } from './values.ts'

export interface NaiveRequest {
  readonly events: readonly AqlEvent[]
  readonly appId: string
  readonly order: Order
}

type Variables = ReadonlyMap<string, Traced>

/** A value on its way through the stages, with what can be seen where it is; or what went wrong instead. */
type Passing = Seen | Problem

interface Seen {
  readonly value: Traced
  readonly seen: Variables
}

/** The messages of a query, computed stage after stage over all of its input at once. */
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

/** An item of an array that failed: nothing comes after it. */
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

/** How many inputs of a source are looked at depends on when a stage is done, so they are tried one more at a time. */
function results(query: Query, request: NaiveRequest, around: Variables, order: Order, isMain: boolean): Passing[] {
  const wished = orderOf(query) ?? order
  const used = !isMain && wished === 'stream-asc' ? 'asc' : wished
  const input = inputOf(query, request, around, used)
  const stopping = query.source.kind === 'array' ? (isMain || used === 'desc' ? undefined : used) : used
  for (let count = 0; ; count++) {
    const taken = input.slice(0, count)
    const failed = taken.find((item) => item instanceof Problem)
    const passed = passes(query.stages, taken, request, around, stopping)
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

function worldOf(request: NaiveRequest, variables: Variables, aggregated?: World['aggregated']): World {
  return {
    variables,
    nested: ({ query }, world) =>
      results(query, request, world.variables, 'asc', false).map((result) => {
        if (result instanceof Problem) throw new Problem(result.message)
        return result.value
      }),
    aggregated: aggregated ?? (() => assertNever()),
  }
}

function assertNever(): never {
  throw new Error('an aggregator outside of AGGREGATE')
}

function inputOf(query: Query, request: NaiveRequest, around: Variables, order: Order): (Traced | Problem)[] {
  const { source } = query
  const world = worldOf(request, around)
  if (source.kind === 'array') {
    return source.items.flatMap(({ spread, expr }): (Traced | Problem)[] => {
      try {
        return items(spread, expr, world)
      } catch (thrown) {
        if (thrown instanceof Problem) return [new Stop(thrown.message)]
        throw thrown
      }
    })
  }
  const holds = condition(source.tags, world, request.appId)
  const selected = request.events.filter(holds).toSorted((a, b) => a.lamport - b.lamport)
  if (order === 'desc') selected.reverse()
  return selected.map((event) => ({ thing: read(event.payload), from: [event] }))
}

function items(spread: boolean, expr: Expr, world: World): Traced[] {
  if (spread && expr.kind === 'query') return [...world.nested(expr, world)]
  const { thing, from } = evaluate(expr, world)
  return spread ? spreadable(thing).map((item) => ({ thing: item, from })) : [{ thing, from }]
}

function condition(tags: TagExpr, world: World, me: string): (event: AqlEvent) => boolean {
  switch (tags.kind) {
    case 'tag':
      return (event) => event.tags.includes(tags.tag)
    case 'template': {
      const tag = plain(evaluate(tags, world).thing).normalize('NFC')
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
      // Keys without a stream come before all events of their lamport timestamp.
      return (event) => inequality(2n * BigInt(event.lamport) + 1n, tags.comparison, 2n * tags.key.lamport)
    case 'chain': {
      const first = condition(tags.first, world, me)
      const rest = tags.rest.map(({ operator, operand }) => ({ operator, holds: condition(operand, world, me) }))
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
  readonly all: Passing[]
  /** Without what the final flush adds. */
  readonly unflushed: Passing[]
  readonly done: boolean
}

/** Takes all of the input through one stage, then all that comes out through the next. */
function passes(
  stages: readonly Stage[],
  input: readonly (Traced | Problem)[],
  request: NaiveRequest,
  around: Variables,
  order: Order | undefined,
): Passed {
  const fed = input.flatMap((value): Passing[] =>
    value instanceof Problem ? [] : [{ value, seen: new Map(around).set('_', value) }],
  )
  let all: Passing[] = fed
  let unflushed: Passing[] = fed
  let done = false
  for (const stage of stages) {
    const before = [...all]
    const step = through(stage, unflushed, request)
    done ||= isDone(stage, unflushed, order, request)
    unflushed = step
    all = stage.kind === 'aggregate' ? aggregated(stage.expr, before, request, around) : through(stage, before, request)
  }
  return { all, unflushed, done }
}

function isDone(stage: Stage, input: readonly Passing[], order: Order | undefined, request: NaiveRequest): boolean {
  const values = input.filter((passing): passing is Seen => !(passing instanceof Problem))
  // What went wrong before is enough too.
  if (stage.kind === 'aggregate' && aggregatorsIn(stage.expr).length === 0) return input.length > 0
  if (stage.kind === 'limit') return BigInt(values.length) >= stage.count
  if (stage.kind !== 'aggregate' || values.length === 0) return false
  const aggregators = aggregatorsIn(stage.expr)
  if (preference(stage.expr) === undefined || preference(stage.expr) !== order) return false
  return aggregators.every(({ argument }) =>
    values.some(({ seen }) => !(attempt(() => evaluate(argument, worldOf(request, seen))) instanceof Problem)),
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

function through(stage: Stage, input: readonly Passing[], request: NaiveRequest): Passing[] {
  if (stage.kind === 'aggregate') return complaints(stage.expr, input, request)
  let left = stage.kind === 'limit' ? stage.count : 0n
  return input.flatMap((passing) => {
    if (passing instanceof Problem) return [passing]
    if (stage.kind === 'limit') return left-- > 0n ? [passing] : []
    return one(stage, passing, worldOf(request, passing.seen))
  })
}

function one(stage: Exclude<Stage, { kind: 'aggregate' | 'limit' }>, passing: Seen, world: World): Passing[] {
  const { value, seen } = passing
  switch (stage.kind) {
    case 'filter': {
      const kept = attempt(() => truth(evaluate(stage.condition, world)))
      return kept instanceof Problem ? [kept] : kept ? [passing] : []
    }
    case 'let': {
      const bound = attempt(() => evaluate(stage.expr, world))
      if (bound instanceof Problem) return [bound]
      return [{ value: stage.name === '_' ? bound : value, seen: new Map(seen).set(stage.name, bound) }]
    }
    case 'select':
      return stage.items.flatMap(({ spread, expr }): Passing[] => {
        const found = attempt(() => items(spread, expr, world))
        if (found instanceof Problem) return [found]
        return found.map((item) => ({ value: item, seen: new Map(seen).set('_', item) }))
      })
  }
}

const inOrder: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']
const same = (a: Expr, b: Expr): boolean => isDeepStrictEqual(a, b)

/** What an AGGREGATE stage says while it is fed: one problem per argument that fails. */
function complaints(expr: Expr, input: readonly Passing[], request: NaiveRequest): Passing[] {
  const all = aggregatorsIn(expr)
  const once = all.filter((one, at) => all.findIndex((other) => same(one, other)) === at)
  once.sort(
    (a, b) => inOrder.indexOf(a.operator) - inOrder.indexOf(b.operator) || compareExpressions(a.argument, b.argument),
  )
  return input.flatMap((passing): Passing[] => {
    if (passing instanceof Problem) return [passing]
    const world = worldOf(request, passing.seen)
    return once
      .map(({ argument }) => attempt(() => evaluate(argument, world)))
      .filter((result) => result instanceof Problem)
  })
}

function aggregated(expr: Expr, input: readonly Passing[], request: NaiveRequest, around: Variables): Passing[] {
  const result = attempt(() => {
    const world = worldOf(request, around, ({ operator, argument }) => {
      const inputs = input.flatMap((passing): Traced[] => {
        const value =
          passing instanceof Problem ? passing : attempt(() => evaluate(argument, worldOf(request, passing.seen)))
        return value instanceof Problem ? [] : [value]
      })
      return total(operator, inputs)
    })
    const value = evaluate(expr, world)
    return { value, seen: new Map(around).set('_', value) }
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

/** Orders by the first and then the last event, or the other way round; nowhere is before everything. */
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

function sum(operator: 'SUM' | 'PRODUCT', inputs: readonly Traced[]): Thing {
  const isAboutTruth = inputs[0]?.thing.is === 'Bool'
  const result = attempt((): Thing => {
    if (!isAboutTruth) {
      const neutral: Thing = { is: 'Natural', natural: operator === 'SUM' ? 0n : 1n }
      const step = (known: Thing, { thing }: Traced) => calculate(operator === 'SUM' ? '+' : '*', known, thing)
      const [first, ...others] = inputs
      // Minus zero alone stays what it is.
      return first?.thing.is === 'Decimal' ? others.reduce(step, first.thing) : inputs.reduce(step, neutral)
    }
    const truths = inputs.map(truth)
    return { is: 'Bool', bool: operator === 'SUM' ? truths.includes(true) : !truths.includes(false) }
  })
  if (result instanceof Problem) throw new Problem(`incompatible types in sum: ${result.message}`)
  return result
}
