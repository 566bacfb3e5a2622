import { statSync } from 'node:fs'
import { formatStreamId, nodeIdOf, type PublicKey } from '../../identity/index.ts'
import { metaOf, openForReading } from './log-database.ts'
import { rowKey } from './rows/row-key.ts'
import { segmentBytes } from './rows/segment-columns.ts'
import type { StreamRow } from './rows/stream-row.ts'

export interface StreamStats {
  readonly stream: string
  readonly events: number
  readonly pruned: number
  readonly sealed: number
  readonly segments: number
}

export interface LogStats {
  readonly topic: string
  readonly kind: 'live' | 'imported'
  readonly bytes: number
  readonly events: number
  readonly tailRows: number
  readonly segmentBytes: number
  readonly indexBytes: number
  readonly streams: readonly StreamStats[]
}

/** Counts the events of a log, and the space that they and the index take. */
export function logStats(file: string): LogStats {
  const database = openForReading(file)
  try {
    const number = (sql: string, ...values: number[]): number =>
      Number(Object.values(database.prepare(sql).get(...values) ?? {})[0] ?? 0)
    const rows = database
      .prepare('SELECT number, node, nr, pruned FROM stream WHERE length(node) > 0 ORDER BY node, nr')
      .all() as unknown as Pick<StreamRow, 'number' | 'node' | 'nr' | 'pruned'>[]
    const streams = rows.map(({ number: id, node, nr, pruned }) => {
      const bounds = [rowKey(id, 0), rowKey(id + 1, 0)]
      const sealed = Math.max(
        pruned,
        number('SELECT max(key + count) FROM segment WHERE key >= ? AND key < ?', ...bounds) - rowKey(id, 0),
      )
      const end = Math.max(
        sealed,
        number('SELECT max(key + count) FROM tail WHERE key >= ? AND key < ?', ...bounds) - rowKey(id, 0),
      )
      const segments = number('SELECT count(*) FROM segment WHERE key >= ? AND key < ?', ...bounds)
      return {
        stream: formatStreamId({ node: nodeIdOf(Uint8Array.from(node) as PublicKey), number: BigInt(nr) }),
        events: end - pruned,
        pruned,
        sealed,
        segments,
      }
    })
    return {
      ...metaOf(database),
      bytes: statSync(file).size,
      events: streams.reduce((sum, { events }) => sum + events, 0),
      tailRows: number('SELECT count(*) FROM tail'),
      segmentBytes: number(`SELECT sum(${segmentBytes}) FROM segment`),
      indexBytes: number('SELECT sum(length(body)) FROM posting'),
      streams,
    }
  } finally {
    database.close()
  }
}
