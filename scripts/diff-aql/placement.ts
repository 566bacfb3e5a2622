import { format, parseQuery, print, type Query } from '../../src/aql/index.ts'
import type { TestEvent } from '../../test/aql/eval/run.ts'

/** Where a node has the events of a query. */
export interface Placement {
  /** What all of the events are tagged with, and nothing else is. */
  readonly tag: string
  /** The lamport timestamp of the first one; the others follow without a gap. */
  readonly lamport: number
  readonly offset: number
  readonly stream: string
}

/** How a query is written down. */
export type Layout = 'one line' | 'many lines'

const unlocked = 'FEATURES(multiEmission aggregate subQuery interpolation fromArray spread)'

/**
 * The text of a query that sees the events of a placement only, with the keys in it counted from the first of them. All
 * operators of the canonical text are in parentheses, so that a tag can be put before what stands there.
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

/** What comes before a query that brings its events along. */
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
