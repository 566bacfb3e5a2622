import { type Chunk, type Frame, genesis, type Hash, MalformedBytes } from '../../../protocol/index.ts'
import { hashThrough, withoutPayloads } from '../../../replication/index.ts'
import { checkpointAt, checkpointsAfter, headOf } from '../rows/checkpoints.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { framesOfSegment } from '../rows/records.ts'
import { redactedBetween } from '../rows/redacted-offsets.ts'
import { rowKey } from '../rows/row-key.ts'
import { blockSize, encodeSegment, Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import { segmentInserter, type WholeSegmentRow } from '../rows/segment-row.ts'
import { streamIdOf } from '../rows/stream-id.ts'
import type { StreamState } from '../rows/stream-state.ts'
import type { LogState } from './log-state.ts'

/**
 * Replaces the stored copy of a sealed chunk of another node by a received one, if it is damaged. Returns whether it was.
 * The index stays: it has the same events at the same positions.
 */
export function repairSegment(log: LogState, state: StreamState, chunk: Chunk): boolean {
  const { first, head } = chunk
  if (state.own || first < state.pruned || head.count > state.sealed) return false
  const start = startOfSealed(log, state, chunk)
  if (start === undefined || !isDamaged(log, state, first)) return false
  if (hashThrough(chunk.frames, start) !== head.hash) return false
  const frames = withoutPayloads(chunk.frames, redactedBetween(log.database, state.number, first, head.count))
  log.transaction(() => {
    const bounds = [rowKey(state.number, first), rowKey(state.number, head.count)] as const
    log.database.prepare('DELETE FROM segment WHERE key >= ? AND key < ?').run(...bounds)
    const lamport = (chunk.frames[0] as Frame).lamports[0] as number
    const place = { key: bounds[0], count: head.count - first, lamport, last: head.lamport }
    segmentInserter(log.database)(place, encodeSegment(frames, streamIdOf(state.key), blockSize(frames)))
    state.revision++
  })
  return true
}

/** Whether the segment of a chunk is missing, or cannot be read. */
function isDamaged({ database }: LogState, { number }: StreamState, first: number): boolean {
  const find = database.prepare(`SELECT ${segmentColumns} FROM segment WHERE key = ?`)
  return (
    unlessDamaged(() => {
      const row = find.get(rowKey(number, first)) as unknown as WholeSegmentRow | undefined
      return row && framesOfSegment(new Segment(row))
    }) === undefined
  )
}

/** The hash before a chunk that goes from one stored checkpoint to the next; undefined for other chunks. */
function startOfSealed(log: LogState, { number, key }: StreamState, { first, head }: Chunk): Hash | undefined {
  const { database, options } = log
  return unlessDamaged(() => {
    const [end] = checkpointsAfter(database, number, first, 1)
    if (end?.count !== head.count || headOf(end).hash !== head.hash) return undefined
    return first === 0 ? genesis(options.topic, key, options.kind) : headOf(checkpointAt(database, number, first)).hash
  })
}

function unlessDamaged<T>(work: () => T): T | undefined {
  try {
    return asDamage(work)
  } catch (error) {
    if (error instanceof DamagedData || error instanceof MalformedBytes) return undefined
    throw error
  }
}
