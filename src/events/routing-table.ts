import { format } from '../base/format.ts'
import { factTagLists, factTags } from '../facts/index.ts'
import { nodeAppId } from '../identity/index.ts'
import { ByteReader } from '../protocol/index.ts'
import { matches, parseRoute, type SettingsDocument, type TagCondition } from '../settings/index.ts'

export { mappingTag } from '../facts/index.ts'

export type RouteSettings = SettingsDocument['eventRouting']['routes']

interface Route {
  readonly condition: TagCondition
  readonly stream: number
  /** Whether it applies to events of the node itself only. */
  readonly nodeOnly: boolean
}

/** The stream for events that match no route, with its first number. */
export const defaultStream = { name: 'default', number: 0 }

/**
 * The stream for facts whose own stream has retention limits. It never has any: settings cannot name it, since they allow
 * no dot in the name of a stream.
 */
export const factsStream = 'node.facts'

/** Routes for events of the node itself, after those of the operator. */
const builtInRoutes: RouteSettings = ['discovery', 'metrics', 'files'].map((name) => ({
  from: `'${name}'`,
  into: name,
}))

/** The names of all streams of the routes, in the order in which they are numbered. */
export function streamNames(routes: RouteSettings): string[] {
  return [...new Set([defaultStream.name, ...[...routes, ...builtInRoutes].map(({ into }) => into)])]
}

/** Whether a stream with limits would get facts: the default stream, or one with a route for them. */
export function needsFactsStream(routes: RouteSettings, limited: ReadonlySet<string>): boolean {
  if (limited.has(defaultStream.name)) return true
  const facts = factTagLists.map((tags) => new Set(tags))
  return [...routes, ...builtInRoutes].some(
    ({ from, into }) => limited.has(into) && facts.some((tags) => matches(parseRoute(from), tags)),
  )
}

/** Maps events to own streams: the first route that matches the tags. */
export class RoutingTable {
  readonly #routes: readonly Route[]
  /** The tags of all conditions and facts, by their UTF-8 as a latin1 string. Other tags of an event are not decoded. */
  readonly #tags: ReadonlyMap<string, string>
  /** Whether one of these tags has a length in bytes. */
  readonly #lengths = new Uint8Array(format.tagBytes + 1)
  readonly #limited: ReadonlySet<number>
  /** The number of the stream for events that match no route. */
  readonly default: number
  readonly #facts: number | undefined

  /**
   * @param numbers the numbers of all streams in the routes, by name
   * @param limited the names of the streams with retention limits
   */
  constructor(routes: RouteSettings, numbers: ReadonlyMap<string, number>, limited: ReadonlySet<string> = new Set()) {
    this.default = numbers.get(defaultStream.name) ?? defaultStream.number
    const route = (nodeOnly: boolean) => (setting: RouteSettings[number]) => ({
      condition: parseRoute(setting.from),
      stream: numbers.get(setting.into) ?? this.default,
      nodeOnly,
    })
    this.#routes = [...routes.map(route(false)), ...builtInRoutes.map(route(true))]
    const tags = [...factTags, ...this.#routes.flatMap(({ condition }) => condition.anyOf.flat())]
    this.#tags = new Map(tags.map((tag) => [Buffer.from(tag).toString('latin1'), tag]))
    for (const { length } of this.#tags.keys()) this.#lengths[length] = 1
    this.#limited = new Set([...limited].flatMap((name) => numbers.get(name) ?? []))
    this.#facts = numbers.get(factsStream)
  }

  /** Whether the stream of an app's event depends on its tags. */
  get dependsOnTags(): boolean {
    return this.#routes.some(({ nodeOnly }) => !nodeOnly)
  }

  /** The stream for encoded labels of an app. */
  streamForLabels(appId: string, labels: Buffer): number {
    const reader = new ByteReader(labels)
    reader.skipText()
    let found: string[] | undefined
    for (let left = reader.uvarint(); left > 0; left--) {
      const length = reader.uvarint()
      const start = reader.skip(length)
      if (this.#lengths[length] === 0) continue
      const tag = this.#tags.get(labels.toString('latin1', start, reader.at))
      if (tag === undefined) continue
      found ??= []
      found.push(tag)
    }
    return found === undefined ? this.default : this.streamFor(appId, found)
  }

  streamFor(appId: string, tags: readonly string[]): number {
    const set = new Set(tags)
    const isOwn = appId === nodeAppId
    const route = this.#routes.find(({ condition, nodeOnly }) => (isOwn || !nodeOnly) && matches(condition, set))
    const stream = route?.stream ?? this.default
    const isFact = isOwn && factTags.some((tag) => set.has(tag))
    return isFact && this.#limited.has(stream) ? (this.#facts ?? stream) : stream
  }
}
