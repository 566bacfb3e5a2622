import { copyFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/runtime/clock.ts'
import { NdjsonWriter } from '../../../src/store/jobs/ndjson-writer.ts'
import type { Selection } from '../../../src/store/port/index.ts'
import { LogCursor, LogReader, type LogWriter } from '../../../src/store/sqlite/index.ts'
import { openWriter, ownKey, request, type SmallStore, time } from './small-store.ts'

/** The result of a query, up to the error that ended it, if any. */
export interface Result {
  readonly bytes: Buffer
  readonly error?: unknown
}

/** By query. There are no further results when the store could not be opened. */
export type Results = ReadonlyMap<string, Result>

const selections: Readonly<Record<string, Selection>> = {
  'everything, upwards': { anyOf: [{ tags: [] }], order: 'asc' },
  'everything, downwards': { anyOf: [{ tags: [] }], order: 'desc' },
  'a tag that all have': { anyOf: [{ tags: ['all'] }], order: 'asc' },
  'rare tags': { anyOf: [{ tags: ['id:11'] }, { tags: ['all', 'id:23'] }, { tags: ['id:3'] }], order: 'asc' },
  'a rare app, downwards': { anyOf: [{ tags: [], appId: 'rare' }], order: 'desc' },
  'a tag that none has': { anyOf: [{ tags: ['none'] }], order: 'asc' },
  'a range of times': { anyOf: [{ tags: [] }], order: 'asc', times: { from: time, to: time + 1 } },
  'a tag in a range of times, downwards': {
    anyOf: [{ tags: ['id:11'] }],
    order: 'desc',
    times: { from: time, to: time + 1 },
  },
  'times without events': { anyOf: [{ tags: [] }], order: 'asc', times: { from: time + 1, to: time + 2 } },
  'a tag, of other nodes': { anyOf: [{ tags: ['id:7'], own: false }], order: 'asc' },
}

/** What the start has reported, among the results. */
export const reportOfStart = 'damage'

/** The start offsets of the chunks of each stream. */
const chunkStarts: readonly (readonly number[])[] = [[8, 18, 26], [0], [0]]

/** Opens the small store, runs all queries, then appends events and receives a chunk. */
export function runAll({ file, nextChunk }: SmallStore): Results {
  const results = new Map<string, Result>()
  let log: OpenLog | undefined
  record(results, 'open', () => {
    log = openLog(file)
    return ''
  })
  if (log === undefined) return results
  results.set(reportOfStart, { bytes: Buffer.from(log.writer.damage.map(({ text }) => text).join('\n')) })
  try {
    queryAll(log, results)
    record(results, 'append', () => json(log?.writer.append([request(1, 0), request(1, 0, 7)])))
    record(results, 'receive', () => json(log?.writer.receive(nextChunk)))
    record(results, 'tidy up', () => runBackgroundWork(log?.writer))
    results.set('everything, after that', linesOf(log.reader, { anyOf: [{ tags: [] }], order: 'desc' }))
  } finally {
    closeLog(log)
  }
  return results
}

/** Background work of a store: it replaces rows of the tail, and must not lose damaged ones. */
function runBackgroundWork(writer: LogWriter | undefined): string {
  writer?.sealAll()
  while (writer?.upkeep.reindexNext());
  return ''
}

function queryAll({ writer, reader }: OpenLog, results: Map<string, Result>): void {
  for (const [name, selection] of Object.entries(selections))
    results.set(name, inTime(linesOf(reader, selection), selection))
  record(results, 'streams', () => json(reader.status()))
  for (const [stream, starts] of chunkStarts.entries()) {
    const head = writer.head(stream)
    record(results, `head of ${stream}`, () => head ?? '')
    record(results, `checkpoints of ${stream}`, () => json(reader.checkpoints(stream)))
    for (const from of starts)
      record(results, `chunk of ${stream} from ${from}`, () => reader.chunk(stream, from, head) ?? '')
  }
}

/** The expected results. After a chunk was received, there may be several. */
export interface ExpectedResults {
  readonly results: Results
  readonly received: readonly Buffer[]
  readonly afterwards: readonly Buffer[]
}

/** The results of the intact store. A damaged waiting chunk may be dropped, and is missing afterwards. */
export function expectedResults(store: SmallStore): ExpectedResults {
  const variants = ['DELETE FROM meta WHERE 0', 'DELETE FROM waiting'].map((change, i) => {
    const copy = { ...store, file: `${store.file}.variant${i}` }
    copyFileSync(store.file, copy.file)
    const database = new DatabaseSync(copy.file)
    database.exec(change)
    database.close()
    return runAll(copy)
  })
  const bytes = (query: string): Buffer[] => variants.map((results) => results.get(query)?.bytes ?? Buffer.alloc(0))
  return {
    results: variants[0] as Results,
    received: bytes('receive'),
    afterwards: bytes('everything, after that'),
  }
}

export interface OpenLog {
  readonly writer: LogWriter
  readonly reader: LogReader
}

export function openLog(file: string): OpenLog {
  const writer = openWriter(file)
  try {
    return { writer, reader: new LogReader(file, writer.counts, ownKey.publicKey, systemClock) }
  } catch (error) {
    writer.close()
    throw error
  }
}

export function closeLog({ writer, reader }: OpenLog): void {
  reader.close()
  writer.close()
}

/** Selected events as lines, up to the error that ended the read, if any. */
export function linesOf(reader: LogReader, selection: Selection): Result {
  const lines = new NdjsonWriter(1 << 16)
  const pieces: Buffer[] = []
  const take = (): void => {
    pieces.push(Buffer.from(lines.written))
    lines.clear()
  }
  try {
    const cursor = new LogCursor(reader, selection)
    while (!cursor.run(lines)) take()
    take()
    return { bytes: Buffer.concat(pieces) }
  } catch (error) {
    take()
    return { bytes: Buffer.concat(pieces), error }
  }
}

/** Without events outside of the range of times, which the store may return, too. */
function inTime({ bytes, ...rest }: Result, { times }: Selection): Result {
  if (times === undefined) return { bytes, ...rest }
  const lines = bytes.toString('latin1').match(/.*\n/g) ?? []
  const isIn = (line: string): boolean => {
    const at = Number(/"timestamp":(\d+)/.exec(line)?.[1])
    return at >= times.from && at < times.to
  }
  return { bytes: Buffer.from(lines.filter(isIn).join(''), 'latin1'), ...rest }
}

function record(results: Map<string, Result>, query: string, work: () => string | Uint8Array): void {
  try {
    results.set(query, { bytes: Buffer.from(work() as string) })
  } catch (error) {
    results.set(query, { bytes: Buffer.alloc(0), error })
  }
}

function json(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part instanceof Uint8Array ? Buffer.from(part).toString('hex') : part,
  )
}
