import type { Expr, Item, MainQuery, Query, Stage, TagAtom } from './ast.ts'
import { finish, Pace, type Steps } from './steps.ts'
import { exprsIn, tagAtoms } from './walk.ts'

/** Where a query can be sent to. */
export type Endpoint = 'query' | 'subscribe' | 'subscribe_monotonic'

/** Parts of the language that not every endpoint has. A beta feature has to be named by a query that uses it. */
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

/** Why an endpoint does not take a query. */
export interface FeatureProblem {
  /** `unsupported` when no query with that feature can be sent there, `notEnabled` when this one only has to name it. */
  readonly kind: 'notEnabled' | 'unsupported'
  readonly message: string
  /** What the same is called on a WebSocket. */
  readonly socketMessage: string
}

/** Whether an endpoint takes a query; what is wrong when it does not. */
export function checkFeatures(query: MainQuery, endpoint: Endpoint): FeatureProblem | undefined {
  return finish(featureProblem(query, endpoint))
}

/** The same in steps. */
export function* featureProblem(query: MainQuery, endpoint: Endpoint): Steps<FeatureProblem | undefined> {
  // Subscriptions have no use for an array, whatever else the query says.
  if (endpoint !== 'query' && query.source.kind === 'array') return unsupported('fromArray', endpoint)
  return checkUse(yield* featuresUsed(query), enabledFeatures(query), endpoint)
}

/** Whether an endpoint takes a query that uses and names these features. */
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
  const refused = used.find((feature) => !endpointsOf(feature).includes(endpoint))
  return refused && unsupported(refused, endpoint)
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

/** The words that a query names, in either way. Of two pragmas of one name the first counts. */
export function enabledFeatures(query: MainQuery): readonly string[] {
  const pragma = query.pragmas.find(({ name }) => name === 'features')?.value ?? ''
  return [...query.features, ...pragma.split(/\p{White_Space}+/u).filter((word) => word !== '')]
}

/** The features that a query uses, nested ones included, in the order of the table. */
export function usedFeatures(query: Query): readonly Feature[] {
  return finish(featuresUsed(query))
}

/** The same in steps. */
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

/** Adds the features of a source and of stages, without those of their expressions. */
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
