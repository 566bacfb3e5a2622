import type { Entry, Expr, Item, Query, Stage } from '../ast.ts'
import { AqlError } from '../error.ts'
import { aqlLimits } from '../language-limits.ts'
import { DeferredCall, type Nested, Pace, runToEnd, type Steps, trampoline } from '../steps.ts'
import { overflowFailure } from '../values/arithmetic.ts'
import { Failure } from '../values/failure.ts'
import { decimal, integer } from '../values/numbers.ts'
import { Timestamp } from '../values/value.ts'
import { childrenOf, tagAtoms } from '../walk.ts'
import { access, inputField, type Step } from './access.ts'
import { type AggregateCode, aggregate, aggregated } from './aggregate.ts'
import { Aggregators } from './aggregator-list.ts'
import { cases } from './choices.ts'
import { type Code, constant, failing } from './code.ts'
import { filter } from './filter.ts'
import { call } from './functions.ts'
import type { ItemCode } from './items.ts'
import { binding } from './let.ts'
import { limit } from './limit.ts'
import { array, type EntryPart, object, template } from './literals.ts'
import { chain, not } from './operators.ts'
import type { ArraySource, EventSource, Program } from './program.ts'
import { select } from './select.ts'
import type { StageCode } from './stage.ts'
import { subQuery, subQueryResults } from './sub-query.ts'
import { Scope } from './variable-scope.ts'
import { keyLiteral, metadataAccess, variable } from './variables.ts'

/** Compiles a query to closures. `outer` is the enclosing scope. */
export function compileQuery(query: Query, outer: Scope): Program {
  return runToEnd(compileSteps(query, outer))
}

/** Cooperative variant: yields between units of work. */
export function compileSteps(query: Query, outer: Scope): Steps<Program> {
  return trampoline(new Compiler().query(query, outer))
}

export function compileExpr(expr: Expr, scope: Scope): Code {
  return runToEnd(trampoline(new Compiler().expr(expr, scope)))
}

/** Nesting levels that run on one stack before a call is deferred to the trampoline. */
const levelsPerStack = 32
/** AST nodes that take as long to evaluate as a query usually spends on one event. */
const nodesPerStep = 16

class Compiler {
  readonly #pace = new Pace()
  #depth = 0
  /** AST nodes compiled so far. */
  #nodeCount = 0

  /** `aggregators` collects those of the enclosing AGGREGATE stage. */
  expr(expr: Expr, scope: Scope, aggregators?: Aggregators): Nested<Code> {
    return this.#depth % levelsPerStack === levelsPerStack - 1
      ? this.#deferred(expr, scope, aggregators)
      : this.#expr(expr, scope, aggregators)
  }

  *query(query: Query, outer: Scope): Nested<Program> {
    if (query.stages.length > aqlLimits.stages)
      throw new AqlError('static', `the query has too many stages (limit stages: ${aqlLimits.stages})`, 0)
    const before = this.#nodeCount
    const source = yield* this.#source(query, outer)
    let scope = new Scope(outer, source.kind === 'events')
    let result = scope.bind('_')
    const stages: StageCode[] = []
    let preferred: 'asc' | 'desc' | undefined
    for (const stage of query.stages) {
      const compiled = yield* this.#stage(stage, scope)
      stages.push(compiled.code)
      scope = compiled.scope ?? scope
      result = compiled.result ?? result
      preferred ??= compiled.preferred
      if (this.#pace.isDue()) yield undefined
    }
    const order = (query.source.kind === 'events' && query.source.order) || preferred
    const sync = stages.every((stage) => stage.sync)
    const stepsPerEvent = 1 + Math.floor((this.#nodeCount - before) / nodesPerStep)
    return { source, stages, slots: scope.slots.count, result, sync, order, stepsPerEvent }
  }

  *#source({ source }: Query, outer: Scope): Nested<EventSource | ArraySource> {
    if (source.kind === 'array') return { kind: 'array', items: yield* this.#items(source.items, outer) }
    const atoms = tagAtoms(source.tags).filter((atom) => atom.kind === 'template')
    const templates = yield* this.#all(atoms, outer)
    const templateIndexes = new Map(atoms.map((atom, at) => [atom, at]))
    return { kind: 'events', tags: source.tags, templates, templateIndexes }
  }

  *#stage(stage: Stage, scope: Scope): Nested<CompiledStage> {
    switch (stage.kind) {
      case 'filter':
        return { code: filter(yield* this.expr(stage.condition, scope)) }
      case 'limit':
        return { code: limit(stage.count) }
      case 'let': {
        const bound = yield* this.expr(stage.expr, scope)
        const slot = scope.bind(stage.name)
        return { code: binding(bound, slot), ...(stage.name === '_' && { result: slot }) }
      }
      case 'select': {
        const items = yield* this.#items(stage.items, scope)
        const slot = scope.bind('_')
        return { code: select(items, slot), result: slot }
      }
      case 'aggregate': {
        const { code, slot } = yield* this.#aggregate(stage.expr, scope)
        const after = scope.afterAggregate()
        after.name('_', slot)
        return { code, scope: after, result: slot, preferred: code.preferred }
      }
    }
  }

  *#aggregate(expr: Expr, scope: Scope): Nested<{ code: AggregateCode; slot: number }> {
    const aggregators = new Aggregators((argument) => this.#aggregated(argument, scope), this.#pace)
    const enclosing = yield* this.expr(expr, scope.afterAggregate(), aggregators)
    const slot = scope.slots.count++
    const inOrder = yield* aggregators.inOrder()
    return { code: aggregate({ aggregators: inOrder, enclosing, slot, preferred: aggregators.preferred }), slot }
  }

  *#aggregated(argument: Expr, scope: Scope): Nested<{ argument: Code; slot: number }> {
    return { argument: yield* this.expr(argument, scope), slot: scope.slots.count++ }
  }

  *#items(items: readonly Item[], scope: Scope): Nested<ItemCode[]> {
    const codes: ItemCode[] = []
    for (const { expr, spread } of items) {
      if (spread && expr.kind === 'query') {
        const program = yield* this.query(expr.query, scope)
        codes.push({ code: subQuery(program), spread, results: (frame) => subQueryResults(program, frame) })
      } else codes.push({ code: yield* this.expr(expr, scope), spread, results: undefined })
      if (this.#pace.isDue()) yield undefined
    }
    return codes
  }

  *#deferred(expr: Expr, scope: Scope, aggregators: Aggregators | undefined): Nested<Code> {
    const deferred = new DeferredCall(this.#expr(expr, scope, aggregators))
    yield deferred
    return deferred.result as Code
  }

  *#expr(expr: Expr, scope: Scope, aggregators: Aggregators | undefined): Nested<Code> {
    const leaf = this.#leaf(expr, scope)
    if (leaf !== undefined) return leaf
    this.#depth++
    const code = yield* this.#composite(expr, scope, aggregators)
    this.#depth--
    return code
  }

  /** Compiles a leaf; `undefined` for other nodes. */
  #leaf(expr: Expr, scope: Scope): Code | undefined {
    this.#nodeCount++
    switch (expr.kind) {
      case 'null':
        return constant(null)
      case 'bool':
      case 'string':
        return constant(expr.value)
      case 'natural':
        return constant(integer(expr.value))
      case 'decimal':
        return Number.isFinite(expr.value) ? constant(decimal(expr.value)) : failing(overflowFailure(expr.value))
      case 'keyLiteral':
        return constant(keyLiteral(expr.key))
      case 'timeLiteral':
        return constant(new Timestamp(Number(expr.time)))
      case 'variable': {
        const found = scope.find(expr.name)
        return found ? variable(found, found.isInput) : unbound(expr.name)
      }
      case 'meta': {
        const found = scope.find(expr.variable)
        return found ? metadataAccess(expr.what, found) : unbound(expr.variable)
      }
      default:
        return undefined
    }
  }

  *#composite(expr: Expr, scope: Scope, aggregators: Aggregators | undefined): Nested<Code> {
    switch (expr.kind) {
      case 'template': {
        const values = expr.parts.filter((part) => typeof part !== 'string')
        const codes = (yield* this.#all(values, scope, aggregators)).values()
        return template(expr.parts.map((part) => (typeof part === 'string' ? part : (codes.next().value as Code))))
      }
      case 'index':
        return yield* this.#index(expr, scope, aggregators)
      case 'array': {
        const codes = yield* this.#all(
          expr.items.map((item) => item.expr),
          scope,
          aggregators,
        )
        return array(codes.map((code, at) => ({ spread: expr.items[at]?.spread === true, code })))
      }
      case 'object':
        return object(yield* this.#entries(expr.entries, scope, aggregators))
      case 'case': {
        const codes = yield* this.#all(childrenOf(expr), scope, aggregators)
        const pairs = expr.clauses.map((_, at) => ({
          condition: codes[2 * at] as Code,
          value: codes[2 * at + 1] as Code,
        }))
        return cases(pairs)
      }
      case 'call':
        return call(expr.name, yield* this.#all(expr.arguments, scope, aggregators))
      case 'not':
        return not(yield* this.expr(expr.operand, scope, aggregators))
      case 'chain': {
        const codes = yield* this.#all(childrenOf(expr), scope, aggregators)
        const links = expr.rest.map(({ operator }, at) => ({ operator, operand: codes[at + 1] as Code }))
        return chain(codes[0] as Code, links)
      }
      case 'query':
        return subQuery(yield* this.query(expr.query, scope))
      case 'aggregator':
        return aggregators === undefined ? misplaced : aggregated(yield* aggregators.slotOf(expr))
      default:
        throw new Error(`an expression of kind '${expr.kind}' has no parts`)
    }
  }

  *#all(exprs: readonly Expr[], scope: Scope, aggregators?: Aggregators): Nested<Code[]> {
    const codes: Code[] = []
    for (const expr of exprs) {
      codes.push(this.#leaf(expr, scope) ?? (yield* this.expr(expr, scope, aggregators)))
      if (this.#pace.isDue()) yield undefined
    }
    return codes
  }

  *#entries(entries: readonly Entry[], scope: Scope, aggregators: Aggregators | undefined): Nested<EntryPart[]> {
    const parts: EntryPart[] = []
    for (const { key, value } of entries) {
      const name = key.kind === 'string' ? key.value : yield* this.expr(key, scope, aggregators)
      parts.push({ key: name, value: yield* this.expr(value, scope, aggregators) })
      if (this.#pace.isDue()) yield undefined
    }
    return parts
  }

  *#index({ head, path }: Expr & { kind: 'index' }, scope: Scope, aggregators: Aggregators | undefined): Nested<Code> {
    const code = yield* this.expr(head, scope, aggregators)
    const steps: Step[] = []
    for (const step of path) {
      steps.push(literalStep(step) ?? (yield* this.expr(step, scope, aggregators)))
      if (this.#pace.isDue()) yield undefined
    }
    const [name] = steps
    const slot = head.kind === 'variable' ? scope.find(head.name) : undefined
    if (code.sync && slot?.isInput && slot.hops === 0 && steps.length === 1 && typeof name === 'string')
      return inputField(code, name)
    return access(code, steps)
  }
}

interface CompiledStage {
  readonly code: StageCode
  /** The scope of the stages that follow, if it changes. */
  readonly scope?: Scope
  /** The slot of the current value, if this stage produces a new one. */
  readonly result?: number
  readonly preferred?: 'asc' | 'desc' | undefined
}

/** Unreachable: the static checks reject this. */
const misplaced = failing(new Failure('aggregators are only valid in AGGREGATE clauses'))

function unbound(name: string): Code {
  return failing(new Failure(`variable \`${name}\` is not bound`))
}

/** A literal step of a path. */
function literalStep(step: Expr): Step | undefined {
  if (step.kind === 'string') return step.value
  return step.kind === 'natural' ? integer(step.value) : undefined
}
