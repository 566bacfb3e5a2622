import type { Expr, Item, Query, Stage } from '../ast.ts'
import { AqlError } from '../error.ts'
import { aqlLimits } from '../limits.ts'
import { beyondDoubles } from '../values/arithmetic.ts'
import { Failure } from '../values/failure.ts'
import { decimal, integer } from '../values/numbers.ts'
import { Timestamp } from '../values/value.ts'
import { tagAtoms } from '../walk.ts'
import { access, inputField, type Step } from './access.ts'
import { type AggregateCode, aggregate, aggregated } from './aggregate.ts'
import { Aggregators } from './aggregator-list.ts'
import { call, cases } from './choices.ts'
import { type Code, constant, failing } from './code.ts'
import { filter } from './filter.ts'
import type { ItemCode } from './items.ts'
import { binding } from './let.ts'
import { limit } from './limit.ts'
import { array, object, template } from './literals.ts'
import { chain, not } from './operators.ts'
import type { ArraySource, EventSource, Program } from './program.ts'
import { Scope } from './scope.ts'
import { select } from './select.ts'
import type { StageCode } from './stage.ts'
import { subQuery, subQueryResults } from './sub-query.ts'
import { keyLiteral, metadataAccess, variable } from './variables.ts'

/** Turns a query into closures. `around` has the variables that can be seen from where it stands. */
export function compileQuery(query: Query, around: Scope): Program {
  if (query.stages.length > aqlLimits.stages)
    throw new AqlError('static', `the query has too many stages (limit stages: ${aqlLimits.stages})`, 0)
  const source = compileSource(query, around)
  const start = new Scope(around, source.kind === 'events').bind('_')
  let { scope, slot: result } = start
  const stages: StageCode[] = []
  let preferred: 'asc' | 'desc' | undefined
  for (const stage of query.stages) {
    const compiled = compileStage(stage, scope)
    stages.push(compiled.code)
    scope = compiled.scope
    result = compiled.result ?? result
    preferred ??= compiled.preferred
  }
  const order = (query.source.kind === 'events' && query.source.order) || preferred
  const quick = stages.every((stage) => stage.quick)
  return { source, stages, slots: scope.slots.count, result, quick, order }
}

function compileSource({ source }: Query, around: Scope): EventSource | ArraySource {
  if (source.kind === 'array') return { kind: 'array', items: source.items.map((item) => compileItem(item, around)) }
  const atoms = tagAtoms(source.tags).filter((atom) => atom.kind === 'template')
  const templates = atoms.map((atom) => compileExpr(atom, around))
  const places = new Map(atoms.map((atom, at) => [atom, at]))
  return { kind: 'events', tags: source.tags, templates, places, quick: templates.every(({ quick }) => quick) }
}

interface CompiledStage {
  readonly code: StageCode
  /** What the stages after this one see. */
  readonly scope: Scope
  /** Where the value that goes on stands, if this stage makes a new one. */
  readonly result?: number
  readonly preferred?: 'asc' | 'desc' | undefined
}

function compileStage(stage: Stage, scope: Scope): CompiledStage {
  switch (stage.kind) {
    case 'filter':
      return { code: filter(compileExpr(stage.condition, scope)), scope }
    case 'limit':
      return { code: limit(stage.count), scope }
    case 'let': {
      const bound = scope.bind(stage.name)
      const code = binding(compileExpr(stage.expr, scope), bound.slot)
      return { code, scope: bound.scope, ...(stage.name === '_' && { result: bound.slot }) }
    }
    case 'select': {
      const items = stage.items.map((item) => compileItem(item, scope))
      const bound = scope.bind('_')
      return { code: select(items, bound.slot), scope: bound.scope, result: bound.slot }
    }
    case 'aggregate': {
      const { code, slot } = compileAggregate(stage.expr, scope)
      return { code, scope: scope.forget().name('_', slot), result: slot, preferred: code.preferred }
    }
  }
}

function compileAggregate(expr: Expr, scope: Scope): { code: AggregateCode; slot: number } {
  const aggregators = new Aggregators((argument) => ({
    argument: compileExpr(argument, scope),
    slot: scope.slots.count++,
  }))
  const around = compileExpr(expr, scope.forget(), aggregators)
  const slot = scope.slots.count++
  return {
    code: aggregate({ aggregators: aggregators.inOrder(), around, slot, preferred: aggregators.preferred }),
    slot,
  }
}

function compileItem({ expr, spread }: Item, scope: Scope): ItemCode {
  if (!spread || expr.kind !== 'query') return { code: compileExpr(expr, scope), spread, results: undefined }
  const program = compileQuery(expr.query, scope)
  return { code: subQuery(program), spread, results: (frame) => subQueryResults(program, frame) }
}

/** `aggregators` is where to put those of the AGGREGATE stage that this is an expression of. */
export function compileExpr(expr: Expr, scope: Scope, aggregators?: Aggregators): Code {
  const compile = (part: Expr): Code => compileExpr(part, scope, aggregators)
  switch (expr.kind) {
    case 'null':
      return constant(null)
    case 'bool':
    case 'string':
      return constant(expr.value)
    case 'natural':
      return constant(integer(expr.value))
    case 'decimal':
      return Number.isFinite(expr.value) ? constant(decimal(expr.value)) : failing(beyondDoubles(expr.value))
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
    case 'template':
      return template(expr.parts.map((part) => (typeof part === 'string' ? part : compile(part))))
    case 'index':
      return compileIndex(expr, scope, compile)
    case 'array':
      return array(expr.items.map((item) => ({ spread: item.spread, code: compile(item.expr) })))
    case 'object':
      return object(
        expr.entries.map(({ key, value }) => ({
          key: key.kind === 'string' ? key.value : compile(key),
          value: compile(value),
        })),
      )
    case 'case':
      return cases(
        expr.clauses.map(({ condition, value }) => ({ condition: compile(condition), value: compile(value) })),
      )
    case 'call':
      return call(expr.name, expr.arguments.map(compile))
    case 'not':
      return not(compile(expr.operand))
    case 'chain':
      return chain(
        compile(expr.first),
        expr.rest.map(({ operator, operand }) => ({ operator, operand: compile(operand) })),
      )
    case 'query':
      return subQuery(compileQuery(expr.query, scope))
    case 'aggregator':
      return aggregators === undefined ? misplaced : aggregated(aggregators.slotOf(expr))
  }
}

function compileIndex({ head, path }: Expr & { kind: 'index' }, scope: Scope, compile: (expr: Expr) => Code): Code {
  const code = compile(head)
  const steps = path.map((step) => compileStep(step, compile))
  const [name] = steps
  const slot = head.kind === 'variable' ? scope.find(head.name) : undefined
  if (code.quick && slot?.isInput && slot.hops === 0 && steps.length === 1 && typeof name === 'string')
    return inputField(code, name)
  return access(code, steps)
}

/** The static checks have refused this already. */
const misplaced = failing(new Failure('aggregators are only valid in AGGREGATE clauses'))

function unbound(name: string): Code {
  return failing(new Failure(`variable \`${name}\` is not bound`))
}

function compileStep(step: Expr, compile: (expr: Expr) => Code): Step {
  if (step.kind === 'string') return step.value
  return step.kind === 'natural' ? integer(step.value) : compile(step)
}
