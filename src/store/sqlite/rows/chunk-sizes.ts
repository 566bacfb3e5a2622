import type { DatabaseSync } from 'node:sqlite'
import { type ChunkSize, joinChunks, type StreamNumber } from '../../port/index.ts'
import { DamagedData } from './checksum.ts'
import { rowKey } from './row-key.ts'
import { segmentBytes } from './segment-columns.ts'

interface Row {
  readonly key: number
  readonly count: number
  readonly bytes: number
  readonly complete: 0 | 1
}

/** One statement for segments and tail: rows that are sealed between two would be in both results, or in neither. */
const rowsOfStream = `
  SELECT key, count, bytes, EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.key = part.key + part.count) AS complete
  FROM (
    SELECT key, count, ${segmentBytes} AS bytes FROM segment WHERE key >= ?1 AND key < ?2
    UNION ALL
    SELECT key, count, length(body) AS bytes FROM tail WHERE key >= ?1 AND key < ?2
  ) AS part
  ORDER BY key`

/** The stored chunks of a stream with `count` events, in order. Their bodies are not read for that. */
export function chunkSizes(database: DatabaseSync, stream: StreamNumber, count: number): ChunkSize[] {
  const start = rowKey(stream, 0)
  const rows = database.prepare(rowsOfStream).all(start, start + count) as unknown as Row[]
  const parts = rows.map(({ key, count, bytes, complete }) => {
    const first = key - start
    return { first, end: first + count, bytes, complete: complete === 1 }
  })
  for (const [i, { first }] of parts.entries())
    if (i > 0 && parts[i - 1]?.end !== first) throw new DamagedData(`there is a gap in stream ${stream}`)
  const end = parts.at(-1)?.end ?? count
  if (end !== count) throw new DamagedData(`stream ${stream} has ${end} events, expected ${count}`)
  return joinChunks(parts)
}
