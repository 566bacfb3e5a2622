import { format, parseQuery, print, type Query } from '../../src/aql/index.ts'
import type { TestEvent } from '../../test/aql/eval/run.ts'

/** Where the events of a query are stored on a node. */
export interface Placement {
  /** The tag of exactly these events. */
  readonly tag: string
  /** The lamport timestamp of the first event; the others are consecutive. */
  readonly lamport: number
  readonly offset: number
  readonly stream: string
}

/** How a query is printed. */
export type Layout = 'one line' | 'many lines'

const unlocked = 'FEATURES(multiEmission aggregate subQuery interpolation fromArray spread)'

/**
 * The text of a query over the events of a placement only, with event keys relative to the first of them. The canonical
 * text has all operators in parentheses, so that a tag can be prepended to a tag expression.
 */
export function textFor(query: Query, { tag, lamport }: Placement, layout: Layout): string {
  const line = print({ ...query, pragmas: [], features: [] })
    .replaceAll(/FROM (?!\[)/g, `FROM '${tag}' & `)
    .replaceAll(
      /(KEY [<>]=? )(\d+)/g,
      (_, comparison: string, number: string) => comparison + (lamport + Number(number)),
    )
  return `${unlocked} ${layout === 'one line' ? line : format(parseQuery(line, { now: 0n }))}`
}

/** The pragma with the events of a query. */
export function pragmaWith(events: readonly TestEvent[], tag: string, before: number): string {
  const lines = [
    ...Array.from({ length: before }, () => '{"payload":0}'),
    ...events.map(
      ({ json, tags = [], appId, timestamp }) =>
        `{"payload":${json},"tags":${JSON.stringify([...tags, tag])},"appId":"${appId}","timestamp":${timestamp}}`,
    ),
  ]
  return `PRAGMA events\n${lines.join('\n')}\nENDPRAGMA\n`
}
