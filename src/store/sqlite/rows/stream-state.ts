import type { DatabaseSync } from 'node:sqlite'
import type { PublicKey } from '../../../identity/index.ts'
import type { StreamKey, TopicKind } from '../../../protocol/index.ts'
import {
  ChainEnd,
  endChunk,
  type StreamPosition,
  startAtCheckpoint,
  startOfStream,
} from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { checkpointAt, checkpointsAfter, headOf } from './checkpoints.ts'
import { DamagedData } from './checksum.ts'
import { rowKey } from './row-key.ts'
import { placeColumns } from './segment-columns.ts'
import { checkSegmentRow, type SegmentRow } from './segment-row.ts'
import { checkStreamRow, type StreamRow } from './stream-row.ts'
import { hashAfterRow, type TailRow } from './tail-row.ts'

/** Where a stream stands, in the rules and in the database. */
export interface StreamState extends StreamPosition {
  readonly number: StreamNumber
  /** How many events from the start are sealed. */
  sealed: number
  /** How many complete chunks wait to be sealed, at most: to look how many they are takes longer than many a commit. */
  mostWaiting: number
  /** Whether its complete chunks can be sealed: not when a part of them is damaged. */
  sealable: boolean
  /** Rises with every change of what was stored before, so that work on a copy of it is not put in its place. */
  revision: number
}

/** The state of a stream of which nothing is stored yet. */
export function newStream(number: StreamNumber, start: StreamPosition): StreamState {
  return { ...start, number, sealed: 0, mostWaiting: 0, sealable: true, revision: 0 }
}

/** Reads the state of all streams from what is stored: the truth is in the rows, this is derived from it. */
export function loadStreams(
  database: DatabaseSync,
  topic: string,
  kind: TopicKind,
  own: PublicKey | undefined,
): StreamState[] {
  const rows = database
    .prepare('SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream ORDER BY number')
    .all() as unknown as StreamRow[]
  const states = rows.map((row, i) => {
    checkStreamRow(row, i)
    const key: StreamKey = { node: Uint8Array.from(row.node) as PublicKey, number: row.nr }
    const isOwn = own !== undefined && Buffer.compare(own, key.node) === 0
    const state = newStream(row.number, startOfStream(topic, kind, key, isOwn))
    state.pruned = row.pruned
    state.mostWaiting = Number.POSITIVE_INFINITY
    loadCheckpoint(database, state, row.checkpoint)
    loadSealed(database, state)
    return { state, tailRows: loadTail(database, state) }
  })
  const known = states.reduce((sum, { tailRows }) => sum + tailRows, 0)
  if (Number(database.prepare('SELECT count(*) AS rows FROM tail').get()?.['rows']) !== known)
    throw new DamagedData('there are rows in the tail that belong to no stream')
  return states.map(({ state }) => state)
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
    .prepare(`SELECT ${placeColumns} FROM segment WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT 1`)
    .get(rowKey(number, 0), rowKey(number + 1, 0))
  state.sealed = state.pruned
  if (row === undefined) return
  const segment = row as unknown as SegmentRow
  checkSegmentRow(segment)
  state.sealed = Math.max(state.pruned, segment.key - rowKey(number, 0) + segment.count)
}

/**
 * Walks over the rows of the tail: they follow each other without a gap, and the last one says where the chain is.
 * Answers how many they are.
 */
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
