import type { DatabaseSync } from 'node:sqlite'
import type { PublicKey } from '../../../identity/index.ts'
import { heads, type StreamKey, type TopicKind } from '../../../protocol/index.ts'
import {
  ChainEnd,
  endChunk,
  type StreamPosition,
  startAtCheckpoint,
  startOfStream,
} from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { checkpointAt, checkpointsAfter, checkpointsOf, headOf } from './checkpoints.ts'
import { DamagedData } from './checksum.ts'
import { rowKey } from './row-key.ts'
import { metadataColumns } from './segment-columns.ts'
import { checkSegmentRow, type SegmentRow } from './segment-row.ts'
import { checkStreamRow, isVacant, type StreamRow } from './stream-row.ts'
import { hashAfterRow, type TailRow } from './tail-row.ts'

/** The position of a stream, with its state in the database. */
export interface StreamState extends StreamPosition {
  readonly number: StreamNumber
  /** Number of sealed events, from the start. */
  sealed: number
  /** Upper bound of the complete, unsealed chunks: a query for the exact number is slower than many commits. */
  unsealedChunksAtMost: number
  /** Whether complete chunks can be sealed: false when one of them is damaged. */
  sealable: boolean
  /** Incremented with every change of stored events, so that seals and merges of older data are not applied. */
  revision: number
}

/** The state of a stream with no stored events. */
export function newStream(number: StreamNumber, start: StreamPosition): StreamState {
  return { ...start, number, sealed: 0, unsealedChunksAtMost: 0, sealable: true, revision: 0 }
}

/** The streams of a log. */
export interface LoadedStreams {
  readonly states: readonly StreamState[]
  /** The numbers that no stream has: their streams were forgotten, or lost. */
  readonly vacant: readonly StreamNumber[]
}

/** Derives the state of all streams from the stored rows. */
export function loadStreams(database: DatabaseSync, owner: TopicOwner): LoadedStreams {
  const rows = database
    .prepare('SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream ORDER BY number')
    .all() as unknown as StreamRow[]
  const states: StreamState[] = []
  const vacant: StreamNumber[] = []
  let known = 0
  for (const [i, row] of rows.entries()) {
    checkStreamRow(row, i)
    if (isVacant(row)) vacant.push(i)
    else {
      const { state, tailRows } = loadStream(database, row, owner)
      states.push(state)
      known += tailRows
    }
  }
  if (Number(database.prepare('SELECT count(*) AS rows FROM tail').get()?.['rows']) !== known)
    throw new DamagedData('there are rows in the tail that belong to no stream')
  return { states, vacant }
}

/** The topic of a log, and the node whose streams are its own. */
export interface TopicOwner {
  readonly topic: string
  readonly kind: TopicKind
  readonly own: PublicKey | undefined
}

/** Derives the state of a stream. Throws if a row that tells where it ends is damaged. */
export function loadStream(
  database: DatabaseSync,
  row: StreamRow,
  { topic, kind, own }: TopicOwner,
): { readonly state: StreamState; readonly tailRows: number } {
  const key: StreamKey = { node: Uint8Array.from(row.node) as PublicKey, number: row.nr }
  const isOwn = own !== undefined && Buffer.compare(own, key.node) === 0
  const state = newStream(row.number, startOfStream(topic, kind, key, isOwn))
  state.pruned = row.pruned
  state.unsealedChunksAtMost = Number.POSITIVE_INFINITY
  loadCheckpoint(database, state, row.checkpoint)
  // Other nodes get the stream from checkpoint to checkpoint.
  if (!isOwn && kind === 'live') checkpointsOf(database, row.number, row.pruned)
  loadSealed(database, state)
  const tailRows = loadTail(database, state)
  if (own !== undefined && !isOwn && kind === 'live') checkReceivedHead(state, row.head)
  return { state, tailRows }
}

/** Only the newest received head tells whether the last rows of a stream of another node are missing. */
function checkReceivedHead({ number, count, lamport, chain }: StreamState, signed: Uint8Array | null): void {
  // A stream that this node has written with another key has none.
  if (signed === null) return
  const head = heads.decodeStored(signed)
  if (head.count !== count || head.lamport !== lamport || head.hash !== chain.hash)
    throw new DamagedData(`stream ${number} does not end with the head that was received last`)
}

function loadCheckpoint(database: DatabaseSync, state: StreamState, count: number): void {
  const { number } = state
  if (checkpointsAfter(database, number, count, 1).length > 0)
    throw new DamagedData(`there are checkpoints of stream ${number} after its last one`)
  if (count === 0) return
  const head = headOf(checkpointAt(database, number, count))
  if (head.count !== count) throw new DamagedData(`a checkpoint of stream ${number} is in the wrong place`)
  startAtCheckpoint(state, head)
  endChunk(state)
}

function loadSealed(database: DatabaseSync, state: StreamState): void {
  const { number } = state
  const row = database
    .prepare(`SELECT ${metadataColumns} FROM segment WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT 1`)
    .get(rowKey(number, 0), rowKey(number + 1, 0))
  state.sealed = state.pruned
  if (row === undefined) return
  const segment = row as unknown as SegmentRow
  checkSegmentRow(segment)
  state.sealed = Math.max(state.pruned, segment.key - rowKey(number, 0) + segment.count)
}

/** Checks that the rows of the tail have no gaps, and takes the chain hash from the last one. Returns their number. */
function loadTail(database: DatabaseSync, state: StreamState): number {
  const { number } = state
  const [from, to] = [rowKey(number, state.sealed), rowKey(number + 1, 0)]
  const places = database
    .prepare('SELECT key, count, raw FROM tail WHERE key >= ? AND key < ? ORDER BY key')
    .all(from, to) as unknown as Pick<TailRow, 'key' | 'count' | 'raw'>[]
  let next = from
  for (const { key, count, raw } of places) {
    if (key !== next) throw new DamagedData(`there is a gap in stream ${number}`)
    next = key + count
    if (key >= rowKey(number, state.checkpoint)) {
      state.eventsSince += count
      state.bytesSince += raw
    }
  }
  if (places.length === 0) {
    if (state.count !== state.sealed) throw new DamagedData(`the end of stream ${number} is missing`)
    return 0
  }
  const last = database
    .prepare('SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key = ?')
    .get(places.at(-1)?.key ?? 0) as unknown as TailRow
  state.count = next - rowKey(number, 0)
  state.lamport = last.lamport
  state.chain = new ChainEnd(hashAfterRow(last))
  return places.length
}
