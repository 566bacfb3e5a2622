import type { DatabaseSync } from 'node:sqlite'
import { formatStreamId, nodeIdOf } from '../../../identity/index.ts'
import { type Frame, heads, type StreamKey } from '../../../protocol/index.ts'
import {
  isOwnStream,
  isSameStream,
  type TopicContext,
  unlessMalformed,
  type VerifiedEnd,
  verifiedPrefix,
} from '../../../replication/index.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import type { StreamNumber } from '../../port/index.ts'
import { upgrade } from '../log-database.ts'
import { type CheckpointRow, checkpointCrc } from '../rows/checkpoints.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { isSound, rawRows } from '../rows/raw-rows.ts'
import { framesOfSegment } from '../rows/records.ts'
import { rowKey, streamOf } from '../rows/row-key.ts'
import { Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import { checkSegmentRow, type WholeSegmentRow } from '../rows/segment-row.ts'
import { type StreamRow, streamCrc, vacantRow } from '../rows/stream-row.ts'
import { loadStream, loadStreams } from '../rows/stream-state.ts'
import { framesOf, type TailRow } from '../rows/tail-row.ts'
import { damagedRedactions } from './damaged-redactions.ts'
import { damagedRows } from './displaced-rows.ts'
import { removeFrom, removeStream } from './remove-rows.ts'
import { type Slot, slotsOf, soundCheckpoints } from './slots.ts'

/** What was cut off from streams of other nodes. */
export interface CutBack {
  readonly damage: readonly StoreDamage[]
  /** The number of events that were cut off. */
  readonly events: number
  /** The greatest lamport timestamp of received heads: own events are to sort after those that were cut off. */
  readonly lamport: number
}

/** A stream of another node that is cut back. */
interface Cut {
  readonly number: StreamNumber
  readonly row: StreamRow
  readonly key: StreamKey
  /** The number of its events, as far as it is known. */
  readonly before: number
  readonly lamport: number
  readonly end: VerifiedEnd | undefined
}

/** Changes that are decided before the transaction. */
interface Repair {
  readonly cuts: readonly Cut[]
  /** Slots whose row is damaged, and whose stream is unknown. */
  readonly vacated: readonly StreamNumber[]
  /** Damaged rows that are deleted, by table. */
  readonly deleted: readonly { readonly table: string; readonly rawKey: bigint }[]
  readonly redactions: number
}

/**
 * Repairs a log that cannot be opened because of damaged rows of other nodes' streams: each such stream is cut back to
 * its last intact checkpoint, and the rest is received again. No other node can repair an own stream: damage of one, or
 * of which it cannot be told, throws and changes nothing.
 */
export function cutBack(database: DatabaseSync, context: TopicContext): CutBack {
  const repair = asDamage(() => plan(database, context))
  upgrade(database)
  database.exec('BEGIN IMMEDIATE')
  try {
    asDamage(() => apply(database, repair))
    // Own streams have to be complete; otherwise nothing is changed.
    asDamage(() => loadStreams(database, { ...context, own: context.key.publicKey }))
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
  return report(repair)
}

function plan(database: DatabaseSync, context: TopicContext): Repair {
  const ends = damagedRows(database, []).ends
  const slots = slotsOf(database, ends.keys(), context)
  const starts = slots.map((slot, number) => rowKey(number, slot.is === 'vacant' ? 0 : slot.row.pruned))
  const { damaged } = damagedRows(database, starts)
  const isOwn = (number: StreamNumber): boolean => slots[number]?.is === 'own'
  for (const { stream, isDisplaced, table } of damaged) {
    if (isOwn(stream) && isDisplaced) throw new DamagedData(`a row of stream ${stream} is in the wrong place`)
    if (slots[stream] === undefined && table === 'tail') throw new DamagedData('a row of the tail belongs to no stream')
  }
  const ofOthers = damaged.filter(({ stream }) => slots[stream] !== undefined && !isOwn(stream))
  const checkpoints = damagedCheckpoints(database, slots, context)
  const redactions = damagedRedactions(database, slots, context)
  const deleted = [...ofOthers, ...checkpoints, ...redactions]
  const suspects = new Set([...ofOthers, ...checkpoints].map(({ stream }) => stream))
  const cuts = slots.flatMap((slot, number) => {
    if (slot.is !== 'foreign') return []
    if (slot.isIntact && !suspects.has(number) && isLoadable(database, slot, context)) return []
    return [cutOf(database, slot, ends.get(number) ?? 0, context)]
  })
  const vacated = slots.flatMap((slot, number) => (slot.is === 'vacant' && !slot.isIntact ? [number] : []))
  return { cuts, vacated, deleted, redactions: redactions.length }
}

function isLoadable(database: DatabaseSync, { row }: { row: StreamRow }, context: TopicContext): boolean {
  try {
    asDamage(() => loadStream(database, row, { ...context, own: context.key.publicKey }))
    return true
  } catch (error) {
    if (error instanceof DamagedData) return false
    throw error
  }
}

function cutOf(
  database: DatabaseSync,
  { row, key }: { row: StreamRow; key: StreamKey },
  stored: number,
  { topic }: TopicContext,
): Cut {
  const { number, pruned } = row
  const all = [rowKey(number, 0), rowKey(number + 1, 0)] as const
  const checkpoints = [...soundCheckpoints(database, ...all)].map(({ key: at, before, head }) => ({
    count: at - all[0],
    before,
    head,
  }))
  const frames = readableFrames(database, all[0] + pruned, all[1])
  const end = verifiedPrefix({ topic, key, pruned, checkpoints, frames })
  const { head } = row
  const received = head === null ? undefined : unlessMalformed(() => heads.verifyStored(head))
  const before = Math.max(stored, received?.count ?? 0, end?.head.count ?? 0)
  return { number, row, key, end, before, lamport: received?.lamport ?? -1 }
}

/** The frames between two keys, up to the first that is damaged. */
function* readableFrames(database: DatabaseSync, from: number, to: number): Generator<Frame> {
  const bounds = 'WHERE key >= ? AND key < ? ORDER BY key'
  try {
    let next = from
    for (const row of rawRows<WholeSegmentRow>(database, `SELECT ${segmentColumns} FROM segment ${bounds}`, from, to)) {
      checkSegmentRow(row)
      if (row.key !== next) break
      next = row.key + row.count
      yield* framesOfSegment(new Segment(row))
    }
    const columns = 'key, count, lamport, hash, raw, crc, body'
    for (const row of rawRows<TailRow>(database, `SELECT ${columns} FROM tail ${bounds}`, next, to))
      yield* framesOf(row)
  } catch (error) {
    // Only damaged data: the caller has read these rows before.
    if (!(error instanceof DamagedData)) throw error
  }
}

/** Damaged checkpoints of other nodes. Their signed heads tell whose they are, even if they are in the wrong place. */
function damagedCheckpoints(
  database: DatabaseSync,
  slots: readonly Slot[],
  context: TopicContext,
): { table: string; rawKey: bigint; stream: StreamNumber }[] {
  const damaged: { table: string; rawKey: bigint; stream: StreamNumber }[] = []
  for (const row of rawRows<CheckpointRow>(database, 'SELECT key, before, head, crc FROM checkpoint ORDER BY key')) {
    if (isSound(row, checkpointCrc)) continue
    const signed = row.head instanceof Uint8Array ? unlessMalformed(() => heads.verifyStored(row.head)) : undefined
    const slot = slots[streamOf(row.key)]
    const isOwn = signed === undefined ? slot?.is === 'own' : isOwnStream(signed.stream, context)
    if (isOwn && slot?.is !== 'own') throw new DamagedData('a checkpoint of an own stream is in the wrong place')
    // That of an own stream stays: it is missed only if it is the newest one.
    if (isOwn) continue
    const isHere = (one: Slot): boolean =>
      signed !== undefined && one.is === 'foreign' && isSameStream(one.key, signed.stream)
    const stream = slots.findIndex(isHere)
    damaged.push({ table: 'checkpoint', rawKey: row.rawKey, stream: stream < 0 ? streamOf(row.key) : stream })
  }
  return damaged
}

function apply(database: DatabaseSync, { cuts, vacated, deleted }: Repair): void {
  // The index may differ from the damaged rows.
  database.exec('REINDEX stream')
  for (const { table, rawKey } of deleted) database.prepare(`DELETE FROM ${table} WHERE key = ?`).run(rawKey)
  const kept = new Map<StreamNumber, StreamRow>()
  for (const cut of cuts) {
    removeFrom(database, cut.number, cut.end?.head.count ?? 0)
    kept.set(cut.number, rowAfter(cut))
  }
  for (const number of vacated) {
    removeStream(database, number)
    kept.set(number, vacantRow(number))
  }
  const numbers = [
    ...rawRows<StreamRow>(database, 'SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream'),
  ]
  // Damaged rows first: one with a damaged number may have the key of its own stream.
  for (const row of numbers)
    if (kept.has(row.number) || !isSound(row, streamCrc))
      database.prepare('DELETE FROM stream WHERE number = ?').run(row.rawKey)
  const insert = database.prepare(
    'INSERT INTO stream (number, node, nr, pruned, checkpoint, record, head, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  for (const { number, node, nr, pruned, checkpoint, record, head, crc } of kept.values())
    insert.run(number, node, nr, pruned, checkpoint, record, head, crc)
}

function rowAfter({ number, row, key, end }: Cut): StreamRow {
  const kept = {
    number,
    node: key.node,
    nr: key.number,
    pruned: end === undefined ? 0 : row.pruned,
    checkpoint: end?.head.count ?? 0,
    record: end === undefined ? null : row.record,
    head: end?.signedHead ?? null,
  }
  return { ...kept, crc: streamCrc(kept) }
}

function report({ cuts, vacated, redactions }: Repair): CutBack {
  const advice = 'Check the disk.'
  const damage: StoreDamage[] = cuts.map(({ key, before, end }) => {
    const count = end?.head.count ?? 0
    const stream = formatStreamId({ node: nodeIdOf(key.node), number: BigInt(key.number) })
    const what = `Stored data of the stream ${stream} of another node was damaged. The stream was cut back to its last intact checkpoint, from ${before} to ${count} events.`
    return { text: `${what} The others are received again from other nodes. ${advice}`, isCertain: true }
  })
  for (const number of vacated)
    damage.push({
      text: `The entry of stream ${number}, of another node, was damaged and could not be restored. The stream was removed. It is received again from other nodes. ${advice}`,
      isCertain: true,
    })
  if (redactions > 0)
    damage.push({
      text: `${redactions} redactions of other nodes were damaged and removed. They are received again from other nodes. ${advice}`,
      isCertain: true,
    })
  const events = cuts.reduce((sum, { before, end }) => sum + before - (end?.head.count ?? 0), 0)
  return { damage, events, lamport: Math.max(-1, ...cuts.map(({ lamport }) => lamport)) }
}
