import { tuning } from '../base/tuning.ts'
import { nodeAppId } from '../identity/index.ts'
import { matches, parseRoute, type SettingsDocument, type TagCondition } from '../settings/index.ts'

export type RouteSettings = SettingsDocument['eventRouting']['routes']

interface Route {
  readonly condition: TagCondition
  readonly stream: number
  /** Only events of the node itself take it. */
  readonly nodeOnly: boolean
}

/** The stream of everything that no route is for. */
export const defaultStream = { name: 'default', number: 0 }

/** Streams of their own for what the node publishes about itself; the routes of the operator come before these. */
const builtInRoutes: RouteSettings = ['discovery', 'metrics', 'files'].map((name) => ({
  from: `'${name}'`,
  into: name,
}))

/** The names of all streams that events can go to, in the order in which they get their numbers. */
export function streamNames(routes: RouteSettings): string[] {
  return [...new Set([defaultStream.name, ...[...routes, ...builtInRoutes].map(({ into }) => into)])]
}

/** Says which of its streams this node puts an event into: the first route that matches its tags. */
export class RoutingTable {
  readonly #routes: readonly Route[]
  /** The streams of labels that came before: many events of an app have the same. */
  readonly #known = new Map<string, number>()

  /** `numbers` has the numbers of all streams that the routes name. */
  constructor(routes: RouteSettings, numbers: ReadonlyMap<string, number>) {
    const route = (nodeOnly: boolean) => (setting: RouteSettings[number]) => ({
      condition: parseRoute(setting.from),
      stream: numbers.get(setting.into) ?? defaultStream.number,
      nodeOnly,
    })
    this.#routes = [...routes.map(route(false)), ...builtInRoutes.map(route(true))]
  }

  /** Whether the tags of an app's events make a difference. */
  get splits(): boolean {
    return this.#routes.some(({ nodeOnly }) => !nodeOnly)
  }

  /** The stream for labels in their canonical bytes, as a latin1 string; their tags are asked for only where they are new. */
  streamForLabels(labels: string, appId: string, tags: () => readonly string[]): number {
    const known = this.#known.get(labels)
    if (known !== undefined) return known
    if (this.#known.size >= tuning.cachedRoutes) this.#known.clear()
    const stream = this.streamFor(appId, tags())
    this.#known.set(labels, stream)
    return stream
  }

  streamFor(appId: string, tags: readonly string[]): number {
    const set = new Set(tags)
    const isOwn = appId === nodeAppId
    const route = this.#routes.find(({ condition, nodeOnly }) => (isOwn || !nodeOnly) && matches(condition, set))
    return route?.stream ?? defaultStream.number
  }
}
