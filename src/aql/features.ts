import type { Expr, Item, MainQuery, Query, Stage, TagAtom } from './ast.ts'
import { Pace, runToEnd, type Steps } from './steps.ts'
import { exprsIn, tagAtoms } from './walk.ts'

/** The API endpoints that accept queries. */
export type Endpoint = 'query' | 'subscribe' | 'subscribe_monotonic'

/** Language features and the endpoints that support them. A beta feature must be enabled by the query that uses it. */
const table = {
  timeRange: { beta: false, endpoints: ['query', 'subscribe', 'subscribe_monotonic'] },
  eventKeyRange: { beta: false, endpoints: ['query', 'subscribe', 'subscribe_monotonic'] },
  multiEmission: { beta: true, endpoints: ['query'] },
  aggregate: { beta: true, endpoints: ['query', 'subscribe'] },
  subQuery: { beta: true, endpoints: ['query'] },
  limit: { beta: false, endpoints: ['query', 'subscribe'] },
  binding: { beta: false, endpoints: ['query', 'subscribe', 'subscribe_monotonic'] },
  interpolation: { beta: true, endpoints: ['query', 'subscribe', 'subscribe_monotonic'] },
  fromArray: { beta: true, endpoints: ['query'] },
  spread: { beta: true, endpoints: ['query', 'subscribe', 'subscribe_monotonic'] },
} as const satisfies Record<string, { readonly beta: boolean; readonly endpoints: readonly Endpoint[] }>

export type Feature = keyof typeof table

export const features = Object.keys(table) as readonly Feature[]

const endpointNames: Readonly<Record<Endpoint, string>> = {
  query: 'Query',
  subscribe: 'Subscribe',
  subscribe_monotonic: 'SubscribeMonotonic',
}

/** Why an endpoint rejects a query. */
export interface FeatureProblem {
  /** `unsupported`: the endpoint never supports the feature. `notEnabled`: the query has to enable it. */
  readonly kind: 'notEnabled' | 'unsupported'
  readonly message: string
  /** The message on a WebSocket. */
  readonly socketMessage: string
}

/** Checks the features of a query against an endpoint. Returns `undefined` when it is accepted. */
export function checkFeatures(query: MainQuery, endpoint: Endpoint): FeatureProblem | undefined {
  return runToEnd(featureProblem(query, endpoint))
}

/** Cooperative variant: yields between steps. */
export function* featureProblem(query: MainQuery, endpoint: Endpoint): Steps<FeatureProblem | undefined> {
  // Subscriptions reject an array source first, whatever other features the query uses.
  if (endpoint !== 'query' && query.source.kind === 'array') return unsupported('fromArray', endpoint)
  return checkUse(yield* featuresUsed(query), enabledFeatures(query), endpoint)
}

/** Checks used and enabled features against an endpoint. */
export function checkUse(
  used: readonly Feature[],
  enabled: readonly string[],
  endpoint: Endpoint,
): FeatureProblem | undefined {
  const missing = used.filter((feature) => table[feature].beta && !enabled.includes(feature))
  if (missing.length > 0) {
    const message = `The query uses beta features that are not enabled: ${missing.join(' ')}.`
    return { kind: 'notEnabled', message, socketMessage: message }
  }
  const rejected = used.find((feature) => !endpointsOf(feature).includes(endpoint))
  return rejected && unsupported(rejected, endpoint)
}

export function endpointsOf(feature: Feature): readonly Endpoint[] {
  return table[feature].endpoints
}

function unsupported(feature: Feature, endpoint: Endpoint): FeatureProblem {
  const name = endpointNames[endpoint]
  return {
    kind: 'unsupported',
    message: `Feature \`${feature}\` is not supported on endpoint \`${name}\`.`,
    socketMessage: `Feature(s) \`${feature}\` are not supported on endpoint ${name}.`,
  }
}

/** The features enabled by `FEATURES(…)` or `PRAGMA features`. Of two pragmas of one name the first wins. */
export function enabledFeatures(query: MainQuery): readonly string[] {
  const pragma = query.pragmas.find(({ name }) => name === 'features')?.value ?? ''
  return [...query.features, ...pragma.split(/\p{White_Space}+/u).filter((word) => word !== '')]
}

/** The features that a query uses, including its sub-queries, in table order. */
export function usedFeatures(query: Query): readonly Feature[] {
  return runToEnd(featuresUsed(query))
}

/** Cooperative variant: yields between steps. */
export function* featuresUsed(query: Query): Steps<readonly Feature[]> {
  const pace = new Pace()
  const used = new Set<Feature | undefined>()
  addFeatures(used, query)
  for (const expr of exprsIn(query)) {
    addFeaturesOfExpr(used, expr)
    if (pace.isDue()) yield
  }
  return features.filter((feature) => used.has(feature))
}

function addFeaturesOfExpr(used: Set<Feature | undefined>, expr: Expr): void {
  if (expr.kind === 'query') {
    used.add('subQuery')
    addFeatures(used, expr.query)
  } else if (expr.kind === 'template') used.add('interpolation')
  else if (expr.kind === 'array') addSpread(used, expr.items)
}

/** Adds the features of a source and of stages, but not those of their expressions. */
function addFeatures(used: Set<Feature | undefined>, { source, stages }: Query): void {
  if (source.kind === 'array') {
    used.add('fromArray')
    addSpread(used, source.items)
  } else for (const { kind } of tagAtoms(source.tags)) used.add(atomFeatures[kind])
  for (const stage of stages) {
    used.add(stageFeatures[stage.kind])
    if (stage.kind !== 'select') continue
    if (stage.items.length > 1) used.add('multiEmission')
    addSpread(used, stage.items)
  }
}

const atomFeatures: Partial<Record<TagAtom['kind'], Feature>> = {
  time: 'timeRange',
  key: 'eventKeyRange',
  template: 'interpolation',
}

const stageFeatures: Partial<Record<Stage['kind'], Feature>> = {
  aggregate: 'aggregate',
  limit: 'limit',
  let: 'binding',
}

function addSpread(used: Set<Feature | undefined>, items: readonly Item[]): void {
  if (items.some((item) => item.spread)) used.add('spread')
}
