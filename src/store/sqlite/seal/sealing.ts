import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { tuning } from '../../../base/tuning.ts'
import { type Frame, MalformedBytes } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import type { StreamNumber } from '../../port/index.ts'
import { checkpointsAfter } from '../rows/checkpoints.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { rowKey } from '../rows/row-key.ts'
import { blockSize, encodeSegment } from '../rows/segment.ts'
import { type SegmentParts, segmentInserter } from '../rows/segment-row.ts'
import { streamIdOf } from '../rows/stream-id.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { type TailRow, takeFrames } from '../rows/tail-row.ts'
import { insertRange } from '../tag-index/index-ranges.ts'
import { IndexBuilder, type IndexRow } from '../tag-index/tag-index.ts'
import { TimeGroups } from '../time-index/time-groups.ts'
import type { LogState } from '../write/log-state.ts'

/** Complete chunks in the tail of one stream that are sealed together. */
export interface SealPlan {
  readonly stream: StreamNumber
  readonly streamId: string
  readonly revision: number
  readonly from: number
  /** Where each chunk ends. */
  readonly ends: readonly number[]
}

/** The segments of a plan, and their index. */
export interface Sealed {
  readonly plan: SealPlan
  readonly segments: readonly SealedSegment[]
  readonly bits: number
  readonly rows: readonly IndexRow[]
  /** The times of all events, encoded. */
  readonly times: Uint8Array
}

interface SealedSegment {
  readonly first: number
  readonly count: number
  readonly lamport: number
  readonly last: number
  readonly parts: SegmentParts
}

/** Plans the next seal: of the stream with the most complete chunks, if there are at least `leastChunks`. */
export function planSeal(log: LogState, leastChunks: number): SealPlan | undefined {
  let best: SealPlan | undefined
  for (const state of log.streams) {
    if (!state.sealable || state.checkpoint <= state.sealed || state.unsealedChunksAtMost < leastChunks) continue
    const ends = chunkEnds(log, state)
    if (ends === undefined) continue
    if (ends.length < tuning.chunksPerSeal) state.unsealedChunksAtMost = ends.length
    // `ends` is limited to the chunks of one seal.
    const enough = Math.min(leastChunks, tuning.chunksPerSeal)
    if (ends.length >= enough && ends.length > (best?.ends.length ?? 0)) best = planOf(state, ends)
  }
  return best
}

function planOf({ number, key, revision, sealed }: StreamState, ends: readonly number[]): SealPlan {
  return { stream: number, streamId: streamIdOf(key), revision, from: sealed, ends }
}

/** The ends of the next chunks. Undefined if they are damaged: then this stream is not sealed any more. */
function chunkEnds({ database, background }: LogState, state: StreamState): number[] | undefined {
  const { number, sealed } = state
  try {
    return asDamage(() => checkpointsAfter(database, number, sealed, tuning.chunksPerSeal)).map(({ count }) => count)
  } catch (error) {
    if (!(error instanceof DamagedData)) throw error
    state.sealable = false
    background.failed('seal', error)
    return undefined
  }
}

/** Builds the segments. It needs only a read-only connection, so it can run in another thread than the writer. */
export function buildSeal(database: DatabaseSync, plan: SealPlan): Sealed {
  assert(plan.ends.length > 0 && plan.ends.length <= tuning.chunksPerSeal, 'a seal has 1 to `chunksPerSeal` chunks')
  const index = new IndexBuilder(plan.from)
  const times = new TimeGroups()
  const segments: SealedSegment[] = []
  let first = plan.from
  for (const end of plan.ends) {
    assert(end > first, 'the ends of chunks ascend')
    const frames = asDamage(() => tailFrames(database, plan.stream, first, end))
    const [head, last] = [frames[0] as Frame, frames.at(-1) as Frame]
    const lamports = { lamport: head.lamports[0] as number, last: last.lamports[last.count - 1] as number }
    for (const frame of frames) times.add(frame.times)
    const parts = encodeSegment(frames, plan.streamId, blockSize(frames), index)
    segments.push({ first, count: end - first, ...lamports, parts })
    first = end
  }
  return { plan, segments, ...index.finish(), times: times.encode() }
}

function tailFrames(database: DatabaseSync, stream: StreamNumber, first: number, end: number): Frame[] {
  const rows = database.prepare(
    'SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key >= ? AND key < ? ORDER BY key',
  )
  const frames: Frame[] = []
  for (const row of rows.all(rowKey(stream, first), rowKey(stream, end)) as unknown as TailRow[])
    frames.push(...takeFrames(row))
  // The rows are deleted after sealing, so the frames have to be complete.
  let next = first
  for (const frame of frames) {
    if (frame.first !== next) throw new DamagedData(`there is a gap in stream ${stream}`)
    // A segment cannot store legacy times: the frames could not be rebuilt from it.
    if (frame.hasLegacyTimes) throw new MalformedBytes(`stream ${stream} has times that cannot be stored`)
    next += frame.count
  }
  if (next !== end) throw new DamagedData(`a chunk of stream ${stream} ends at ${next}, not at ${end}`)
  return frames
}

/** Releases the memory of sealed chunks, once they are stored or copied to another thread. */
export function releaseSealed({ segments }: Sealed): void {
  for (const { parts } of segments) for (const bytes of [parts.framing, ...parts.blocks]) release(bytes)
}

/** Checks that the segments contain every event of the rows that they replace. */
function assertGapless({ from, ends }: SealPlan, segments: readonly SealedSegment[]): void {
  assert(segments.length === ends.length, 'each chunk of a seal has a segment')
  let next = from
  let lamport = -1
  for (const [i, segment] of segments.entries()) {
    assert(segment.first === next && segment.first + segment.count === ends[i], 'sealed chunks have no gaps')
    assert(segment.lamport > lamport && segment.last >= segment.lamport, 'lamport timestamps ascend in sealed chunks')
    next = segment.first + segment.count
    lamport = segment.last
  }
}

/** Replaces rows of the tail by segments, in one short transaction; false when the plan is outdated. */
export function applySeal(log: LogState, { plan, segments, bits, rows, times }: Sealed): boolean {
  const state = [...log.streams].find(({ number }) => number === plan.stream)
  // Events that were pruned or redacted since must not come back.
  if (state === undefined || state.revision !== plan.revision || state.sealed !== plan.from) return false
  const end = plan.ends.at(-1) as number
  assert(end <= state.checkpoint, 'only events before a checkpoint are sealed')
  assertGapless(plan, segments)
  log.transaction(() => {
    const { database } = log
    const insert = segmentInserter(database)
    for (const { first, parts, ...numbers } of segments) insert({ key: rowKey(plan.stream, first), ...numbers }, parts)
    const range = { id: log.newRangeId(), stream: plan.stream, first: plan.from, count: end - plan.from, bits }
    insertRange(database, range, rows, times)
    database
      .prepare('DELETE FROM tail WHERE key >= ? AND key < ?')
      .run(rowKey(plan.stream, plan.from), rowKey(plan.stream, end))
  })
  state.sealed = end
  state.unsealedChunksAtMost -= plan.ends.length
  log.changed.add(state)
  return true
}
