import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { systemClock } from '../../../src/runtime/clock.ts'
import { LogReader, type LogWriter } from '../../../src/store/sqlite/index.ts'
import { offsetOf, streamOf } from '../../../src/store/sqlite/rows/row-key.ts'
import { linesOf } from './queries.ts'
import { openWriter, otherKey, ownKey, request } from './small-store.ts'

/** A store with own streams 0 and 2, and a stream of another node in between. */
export interface ForeignStore {
  readonly file: string
  /** All chunks of the stream of the other node, in order. */
  readonly chunks: readonly Uint8Array[]
  /** Redaction and prune records of its node, with the head of the checkpoint. */
  readonly redaction: Uint8Array
  readonly prune: Uint8Array
  readonly checkpoint: Uint8Array
}

/** The number of the foreign stream. */
export const foreign = 1

/** Chunks end after 8 events, see `small-store.ts`. */
export function buildForeignStore(folder: string, { pruned = true } = {}): ForeignStore {
  const source = sourceOf(join(folder, 'source.db'))
  const file = join(folder, 'log.db')
  const writer = openWriter(file)
  writer.append([request(20, 0)])
  const [first, second, third, fourth, fifth, last] = source.chunks as Uint8Array[]
  for (const chunk of [first, second, third]) writer.receive(chunk as Uint8Array)
  writer.append([request(3, 0, 7)])
  writer.applyRedactions([source.redaction])
  if (pruned) writer.applyPrune(source.prune, source.checkpoint)
  writer.sealAll()
  for (const chunk of [fourth, fifth, last]) writer.receive(chunk as Uint8Array)
  writer.append([request(2, 20)])
  writer.close()
  return { file, ...source }
}

function sourceOf(file: string): Omit<ForeignStore, 'file'> {
  const writer = openWriter(file, otherKey)
  const reader = new LogReader(file, writer.counts, otherKey.publicKey, systemClock)
  try {
    for (let from = 0; from < 40; from += 8) writer.append([request(5, from), request(3, from + 5)])
    writer.append([request(3, 40)])
    writer.append([request(2, 43)])
    const checkpoints = reader.checkpoints(0)
    const chunks = [0, ...checkpoints.map(({ count }) => count)].flatMap(
      (from) => reader.chunk(0, from, writer.head(0)) ?? [],
    )
    const checkpoint = checkpoints[0]?.head ?? new Uint8Array()
    return { chunks, checkpoint, redaction: writer.redact(0, [11, 13, 14]), prune: writer.prune(0, 8) }
  } finally {
    reader.close()
    writer.close()
  }
}

/** Tables whose rows belong to one stream, with the expression of its number. */
const tables: Readonly<Record<string, (row: Record<string, SQLInputValue>) => number>> = {
  stream: ({ number }) => Number(number),
  tail: ({ key }) => streamOf(Number(key)),
  segment: ({ key }) => streamOf(Number(key)),
  checkpoint: ({ key }) => streamOf(Number(key)),
  redaction: ({ key }) => streamOf(Number(key)),
  range: ({ stream }) => Number(stream),
}

export interface RowPlace {
  readonly table: string
  readonly column: string
  readonly key: SQLInputValue
  readonly offset: number
}

/** The rows of a stream. */
export function rowsOfStream(file: string, stream: number): RowPlace[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return Object.entries(tables).flatMap(([table, streamIn]) =>
      (database.prepare(`SELECT * FROM ${table}`).all() as Record<string, SQLInputValue>[])
        .filter((row) => streamIn(row) === stream)
        .map((row) => {
          const [[column, key]] = Object.entries(row) as [[string, SQLInputValue]]
          return { table, column, key, offset: table === 'stream' ? 0 : offsetOf(Number(key)) }
        }),
    )
  } finally {
    database.close()
  }
}

export function deleteRow(file: string, { table, column, key }: RowPlace): void {
  const database = new DatabaseSync(file)
  database.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(key)
  database.close()
}

/** What can be read of a store: its events by stream, and what was reported when it was opened. */
export interface Contents {
  readonly own: string
  readonly foreign: string
  readonly count: number
  readonly damage: readonly string[]
}

export function withStore<T>(file: string, work: (writer: LogWriter, reader: LogReader) => T): T {
  const writer = openWriter(file)
  try {
    const reader = new LogReader(file, writer.counts, ownKey.publicKey, systemClock)
    try {
      return work(writer, reader)
    } finally {
      reader.close()
    }
  } finally {
    writer.close()
  }
}

export function contentsOf(writer: LogWriter, reader: LogReader): Contents {
  const lines = (own: boolean): string => {
    const { bytes, error } = linesOf(reader, { anyOf: [{ tags: [], own }], order: 'asc' })
    if (error !== undefined) throw error
    return bytes.toString()
  }
  const other = reader.status().find(({ own }) => !own)
  return {
    own: lines(true),
    foreign: lines(false),
    count: other?.count ?? 0,
    damage: writer.damage.map(({ text }) => text),
  }
}
