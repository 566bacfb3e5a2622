import type { DatabaseSync } from 'node:sqlite'
import { format } from '../../../base/format.ts'
import type { PublicKey } from '../../../identity/index.ts'
import { type Frame, genesis, heads, type StreamKey, verifyStoredPrune } from '../../../protocol/index.ts'
import {
  hashThrough,
  isOwnStream,
  isSameStream,
  ownStreamKey,
  type TopicContext,
  unlessMalformed,
} from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { type CheckpointRow, checkpointCrc } from '../rows/checkpoints.ts'
import { DamagedData } from '../rows/checksum.ts'
import { isSound, type RawRow, rawRows } from '../rows/raw-rows.ts'
import { rowKey } from '../rows/row-key.ts'
import { isVacant, type StreamRow, streamCrc } from '../rows/stream-row.ts'
import { type ChainPoint, chainPointOf, framesOf, type TailRow } from '../rows/tail-row.ts'

/** The place of a stream in a log that has damaged rows. */
export type Slot =
  /** A stream, with its row as stored or as far as it could be restored. */
  | { readonly is: 'own' | 'foreign'; readonly row: StreamRow; readonly key: StreamKey; readonly isIntact: boolean }
  /** No stream, or one of another node whose key is lost. */
  | { readonly is: 'vacant'; readonly isIntact: boolean }

/** Whose stream is in each slot. Throws where it cannot be told, or where the row of an own stream is damaged. */
export function slotsOf(database: DatabaseSync, ends: Iterable<StreamNumber>, context: TopicContext): Slot[] {
  const rows = [
    ...rawRows<StreamRow>(
      database,
      'SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream ORDER BY number',
    ),
  ]
  const intact = new Map(rows.filter((row) => isSound(row, streamCrc)).map((row) => [row.number, row]))
  const damaged = rows.filter((row) => intact.get(row.number) !== row)
  const restored = new Map<StreamNumber, RawRow<StreamRow>>()
  // A row with a damaged number matches its checksum with the number that it had.
  for (let number = 0; number < rows.length; number++)
    for (const row of intact.has(number) ? [] : damaged)
      if (isSound({ ...row, number }, streamCrc)) restored.set(number, row)
  const displaced = new Set(restored.values())
  const known = [...intact.keys(), ...restored.keys(), ...ends, ...checkpointStreams(database)]
  for (const row of damaged) if (!displaced.has(row) && isNumber(row.number)) known.push(row.number)
  const count = 1 + Math.max(-1, ...known)
  return Array.from({ length: count }, (_, number) => {
    const row = intact.get(number)
    if (row !== undefined) return slotOf(database, row, true, context)
    const moved = restored.get(number)
    if (moved !== undefined) return slotOf(database, { ...moved, number }, false, context)
    const found = damaged.find((one) => one.number === number && !displaced.has(one))
    return restoredSlot(database, number, found, context)
  })
}

function isNumber(number: StreamNumber): boolean {
  return number >= 0 && number < format.streamsPerTopic
}

/** The streams that have intact checkpoints. */
function* checkpointStreams(database: DatabaseSync): Generator<StreamNumber> {
  const last = rowKey(format.streamsPerTopic, 0)
  for (const { key } of soundCheckpoints(database, 0, last)) yield Math.floor(key / rowKey(1, 0))
}

function slotOf(database: DatabaseSync, row: StreamRow, isIntact: boolean, context: TopicContext): Slot {
  if (isVacant(row)) return { is: 'vacant', isIntact }
  const key = { node: Uint8Array.from(row.node) as PublicKey, number: row.nr }
  const isOwn = context.kind === 'imported' || isOwnStream(key, context) || isWrittenHere(database, row)
  if (isOwn && !isIntact) throw damagedEntry(row.number)
  return { is: isOwn ? 'own' : 'foreign', row, key, isIntact }
}

/** A slot whose row is damaged or missing: its key is taken from signed heads, or verified by the hash chain. */
function restoredSlot(
  database: DatabaseSync,
  number: StreamNumber,
  row: StreamRow | undefined,
  context: TopicContext,
): Slot {
  if (context.kind === 'imported') throw damagedEntry(number)
  const key = signedKey(database, number, row, context) ?? chainedKey(database, number, row, context)
  if (key === undefined) {
    if (mayBeOwn(database, number, context)) throw damagedEntry(number)
    return { is: 'vacant', isIntact: false }
  }
  if (isOwnStream(key, context) || (row !== undefined && isWrittenHere(database, row))) throw damagedEntry(number)
  const given = isBytes(row?.record) ? row.record : undefined
  const prune = given && unlessMalformed(() => verifyStoredPrune(given))
  const [record, pruned] =
    given !== undefined && prune?.topic === context.topic && isSameStream(prune.stream, key)
      ? [given, prune.count]
      : [null, 0]
  const head = isBytes(row?.head) ? row.head : null
  const restored = { number, node: key.node, nr: key.number, pruned, checkpoint: 0, record, head, crc: 0 }
  return { is: 'foreign', row: restored, key, isIntact: false }
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

/** The key in a signed head of the stream. */
function signedKey(
  database: DatabaseSync,
  number: StreamNumber,
  row: StreamRow | undefined,
  { topic }: TopicContext,
): StreamKey | undefined {
  const signed = [
    ...(isBytes(row?.head) ? [row.head] : []),
    ...[...soundCheckpoints(database, rowKey(number, 0), rowKey(number + 1, 0))].map(({ head }) => head),
  ]
  for (const bytes of signed) {
    const head = unlessMalformed(() => heads.verifyStored(bytes))
    if (head?.topic === topic) return head.stream
  }
  return undefined
}

/** The key in the row of a stream, if the chain of the stream starts from it. */
function chainedKey(
  database: DatabaseSync,
  number: StreamNumber,
  row: StreamRow | undefined,
  context: TopicContext,
): StreamKey | undefined {
  if (!isBytes(row?.node) || row.node.length !== 32 || !Number.isSafeInteger(row.nr) || row.nr < 0) return undefined
  const key = { node: Uint8Array.from(row.node) as PublicKey, number: row.nr }
  const first = firstFrames(database, number)
  return first !== undefined && startsFrom(first, key, context) ? key : undefined
}

/** Whether this node has written a stream, maybe with another key: only streams of other nodes have a received head. */
function isWrittenHere(database: DatabaseSync, { number, head }: StreamRow): boolean {
  return head === null && hasEvents(database, number)
}

function hasEvents(database: DatabaseSync, number: StreamNumber): boolean {
  const bounds = [rowKey(number, 0), rowKey(number + 1, 0)] as const
  return ['tail', 'segment', 'checkpoint'].some(
    (table) =>
      database.prepare(`SELECT 1 FROM ${table} WHERE key >= ? AND key < ? LIMIT 1`).get(...bounds) !== undefined,
  )
}

/** Whether the events of a slot may be own ones: an own stream has events, and one of the numbers of own streams. */
function mayBeOwn(database: DatabaseSync, number: StreamNumber, context: TopicContext): boolean {
  if (!hasEvents(database, number)) return false
  const first = firstFrames(database, number)
  // Only own frames are stored with the hash before them; earlier versions stored the one after them, too.
  if (first === undefined || first.point.is === 'before') return true
  const own = Array.from({ length: format.streamsPerNode }, (_, nr) => ownStreamKey(nr, context))
  return own.some((key) => startsFrom(first, key, context))
}

interface FirstFrames {
  readonly frames: readonly Frame[]
  readonly point: ChainPoint
}

/** The first frames in a slot; undefined when they are sealed, pruned or damaged. */
function firstFrames(database: DatabaseSync, number: StreamNumber): FirstFrames | undefined {
  const columns = 'key, count, lamport, hash, raw, crc, body'
  const [row] = rawRows<TailRow>(database, `SELECT ${columns} FROM tail WHERE key = ?`, rowKey(number, 0))
  try {
    return row && { frames: framesOf(row), point: chainPointOf(row) }
  } catch (error) {
    if (error instanceof DamagedData) return undefined
    throw error
  }
}

/** Whether the chain of these frames starts from the genesis of a stream. */
function startsFrom({ frames, point: { is, hash } }: FirstFrames, key: StreamKey, context: TopicContext): boolean {
  const start = genesis(context.topic, key, context.kind)
  return hash === (is === 'before' ? start : hashThrough(frames, start))
}

/** The intact checkpoints between two keys. */
export function* soundCheckpoints(database: DatabaseSync, from: number, to: number): Generator<CheckpointRow> {
  const sql = 'SELECT key, before, head, crc FROM checkpoint WHERE key >= ? AND key < ? ORDER BY key'
  for (const row of rawRows<CheckpointRow>(database, sql, from, to)) if (isSound(row, checkpointCrc)) yield row
}

export function damagedEntry(number: StreamNumber): DamagedData {
  return new DamagedData(`the entry of stream ${number} is damaged`)
}
