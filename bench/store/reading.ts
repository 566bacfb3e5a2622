import { systemClock } from '../../src/runtime/clock.ts'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'
import type { EventSink, ReadStream, Selection } from '../../src/store/port/index.ts'
import { LogCursor, LogReader, SharedCounts } from '../../src/store/sqlite/index.ts'
import type { SqliteEventStore } from '../../src/store/threads/sqlite-event-store.ts'
import { type BareBlock, BareRows, concatenate, decompressed, parseAll, payloadsAt, StoredBlocks } from './bare.ts'
import type { EventSource } from './events.ts'
import { interleave, type LoopWatch, time, timeAsync } from './measure.ts'
import { atLeast, atMost, duration, type Goal, type Line, speed } from './report.ts'
import type { StoreFile, Workspace } from './workspace.ts'

type Block = Parameters<EventSink['event']>[1]

const rounds = 7
/** Scans are interleaved in many short turns, because the speed of the machine varies from second to second. */
const scan = { events: 100_000, turns: 15, uncounted: 4 } as const
const pieceBytes = 128 * 1024

/** A filled store without pending background work, with the source of its events. */
export interface Filled extends StoreFile {
  readonly source: EventSource
  /** The number of events of the source, and of events in the store. */
  readonly events: number
  readonly stored: number
}

/** The counts that a reader needs. Determined once: that takes much longer than the measurement, and evicts caches. */
interface Standing extends Filled {
  readonly sealed: number
}

function standing(filled: Filled, stored = filled.stored): Standing {
  return { ...filled, stored, sealed: sealedEventsOf(filled.file) }
}

/** Full scans in order: as lines, and parsed; in this thread and through the store. */
export async function scans(filled: Filled, store: SqliteEventStore, watch: LoopWatch): Promise<Line[]> {
  const stored = new StoredBlocks(filled.file)
  try {
    const windows = Array.from({ length: scan.turns }, (_, i) => windowAt(stored, filled, i / (scan.turns - 1)))
    const inWindow =
      <T>(measure: (window: Window) => T) =>
      (round: number): T =>
        measure(windows[round % scan.turns] as Window)
    const events = windows[0]?.count ?? 0
    const now = standing(filled)
    const inTurns = <K extends string>(subjects: Readonly<Record<K, (round: number) => number | Promise<number>>>) =>
      interleave(scan.turns, subjects, scan.uncounted)
    const lines = await inTurns({
      concatenate: inWindow((window) => measureBare(window, concatenate)),
      lines: inWindow(({ all, count }) => measureLines(now, all, count)),
      linesByTag: inWindow(({ byTag, count }) => measureLines(now, byTag, count)),
    })
    // Measured separately: garbage of other subjects would be collected concurrently, in other threads.
    const through = await inTurns({
      concatenate: inWindow((window) => measureBare(window, concatenate)),
      store: inWindow(({ all }) => measureStore(store, watch, all)),
    })
    const values = await inTurns({
      parse: inWindow(measureParse),
      parsed: inWindow(({ all, count }) => measureParsed(now, all, count)),
    })
    const common = { operations: events, unit: 'events', bareName: 'bare decompress and concatenate' }
    const line = (name: string, { concatenate }: { concatenate: number[] }, ours: number[], goal?: Goal): Line =>
      speed({ name, ours, bare: concatenate, ...common, ...(goal && { goal }) })
    return [
      line('scan as lines', lines, lines.lines, atLeast(0.7)),
      line('… by a tag that all have', lines, lines.linesByTag),
      line('… through the store', through, through.store, atLeast(0.7)),
      speed({
        name: 'scan, parsed',
        goal: atLeast(0.7),
        ours: values.parsed,
        bare: values.parse,
        ...common,
        bareName: 'bare decompress and JSON.parse',
      }),
    ]
  } finally {
    stored.close()
  }
}

interface Window {
  readonly count: number
  readonly blocks: readonly BareBlock[]
  readonly all: Selection
  readonly byTag: Selection
}

function windowAt(stored: StoredBlocks, { source }: Filled, part: number): Window {
  const { first, count, blocks } = stored.window(part, scan.events)
  const bounds = { lower: new Map([[0, first - 1]]), upper: new Map([[0, first + count - 1]]) }
  return {
    count,
    blocks,
    all: { anyOf: [{ tags: [] }], order: 'asc', ...bounds },
    byTag: { anyOf: [{ tags: [source.run] }], order: 'asc', ...bounds },
  }
}

function measureBare({ blocks }: Window, work: (blocks: readonly BareBlock[]) => void): number {
  return time(() => work(blocks))
}

function measureParse({ blocks, count }: Window): number {
  const places = blocks.map(payloadsAt)
  let parsed = 0
  const ms = time(() => {
    parsed = parseAll(blocks, places)
  })
  expect(parsed, count - 1, count)
  return ms
}

function measureLines(now: Standing, selection: Selection, events: number): number {
  return withReader(now, (reader) => {
    const sink = new CountingLines()
    const ms = time(() => runLines(reader, selection, sink))
    expect(sink.events, events - 1, events)
    return ms
  })
}

function measureParsed(now: Standing, selection: Selection, events: number): number {
  return withReader(now, (reader) => {
    const sink = new ParsingSink()
    const ms = time(() => new LogCursor(reader, selection).run(sink))
    expect(sink.events, events - 1, events)
    return ms
  })
}

function measureStore(store: SqliteEventStore, watch: LoopWatch, selection: Selection): Promise<number> {
  return watch.during('scan through the store', () =>
    timeAsync(async () => {
      let bytes = 0
      const reading = store.read(selection)
      for await (const piece of reading) {
        bytes += piece.length
        // Returns the buffer, as sending a response does. Otherwise this would measure the garbage collector.
        reading.recycle?.(piece)
      }
      return bytes
    }),
  )
}

/** Lines of one event in 1000 of the whole store, relative to reading the blocks that contain them. */
export async function rareTag(workspace: Workspace, filled: Filled): Promise<Line[]> {
  const { source, events } = filled
  const stored = new StoredBlocks(filled.file)
  // The first event is not one of the numbered events.
  const offsets = Array.from({ length: Math.ceil((events - 7) / 1000) }, (_, i) => 1 + 7 + 1000 * i)
  const blocks = stored.holding(offsets)
  stored.close()
  const rows = new RowsOfBlocks(workspace, blocks)
  const now = standing(filled)
  const measured = await interleave(rounds, {
    ours: () => measureQuery(now, { anyOf: [{ tags: [source.rareTag] }], order: 'asc' }, offsets.length),
    bare: () => rows.measure(blocks.length),
  })
  return [
    duration({
      name: `1 in 1000 (${offsets.length} events)`,
      goal: atMost(1.5),
      ...measured,
      bareName: `bare read and decompress of ${blocks.length} blocks`,
    }),
  ]
}

/** Short queries are repeated often, after a warm-up: a reader runs for weeks. */
const short = { times: 525, uncounted: 1500 } as const

/** The last ten events, with everything sealed and with unsealed newest events. */
export async function lastTen(workspace: Workspace, filled: Filled, store: SqliteEventStore): Promise<Line[]> {
  const { source } = filled
  const stored = new StoredBlocks(filled.file)
  const { sealedEvents } = stored
  const blocks = stored.holding([sealedEvents - 1])
  stored.close()
  const rows = new RowsOfBlocks(workspace, blocks)
  const measure = async (name: string, tags: readonly string[], stored: number): Promise<Line> => {
    const selection: Selection = { anyOf: [{ tags }], order: 'desc' }
    const now = standing(filled, stored)
    const measured = await interleave(
      short.times,
      { ours: () => measureQuery(now, selection, 10), bare: () => rows.measure(1) },
      short.uncounted,
    )
    return duration({ name, goal: atMost(3), ...measured, bareName: 'bare read and decompress of one block' })
  }
  const lines = [
    await measure('last ten', [], sealedEvents),
    await measure('… by a tag that all have', [source.run], sealedEvents),
  ]
  await store.append(source.request(1000))
  lines.push(await measure('… not sealed yet', [source.run], filled.stored + 1000))
  for (let i = 0; i < 20; i++) await store.append(source.request(1))
  return [...lines, await measure('… that came one by one', [source.run], filled.stored + 1020)]
}

/** One event by a unique tag, in a store where all events have unique tags and in one with hardly any. */
export async function pointQuery(ordinary: Filled, unique: Filled): Promise<Line[]> {
  // Unsealed events have no index, and their number differs between the stores.
  const sealed = Math.min(...[ordinary, unique].map(({ file }) => sealedEventsOf(file)))
  const [ordinaryNow, uniqueNow] = [standing(ordinary, sealed), standing(unique, sealed)]
  const point = (now: Standing, tag: string): number => measureQuery(now, { anyOf: [{ tags: [tag] }], order: 'asc' }, 1)
  const { ours, bare } = await interleave(
    short.times,
    {
      ours: () => point(uniqueNow, unique.source.uniqueTag),
      bare: () => point(ordinaryNow, ordinary.source.liveTag),
    },
    short.uncounted,
  )
  return [
    duration({
      name: 'point query with unique tags',
      goal: atMost(2),
      ours,
      bare,
      bareName: 'a tag of one event among ordinary ones',
    }),
  ]
}

function sealedEventsOf(file: string): number {
  const stored = new StoredBlocks(file)
  try {
    return stored.sealedEvents
  } finally {
    stored.close()
  }
}

/** A query with cold caches of the store. */
function measureQuery(now: Standing, selection: Selection, events: number): number {
  return withReader(now, (reader) => {
    const sink = new CountingLines(events)
    const ms = time(() => runLines(reader, selection, sink))
    expect(sink.events, events, events)
    return ms
  })
}

/** Opens a reader, outside of the measurement. */
function withReader<T>({ file, key, stored, sealed }: Standing, work: (reader: LogReader) => T): T {
  const counts = new SharedCounts()
  counts.publish([{ number: 0, count: stored, pruned: 0, sealed }])
  const reader = new LogReader(file, counts, key.publicKey, systemClock)
  try {
    return work(reader)
  } finally {
    reader.close()
  }
}

function runLines(reader: LogReader, selection: Selection, sink: CountingLines): void {
  const cursor = new LogCursor(reader, selection)
  while (!cursor.run(sink) && !sink.hasEnough) sink.clear()
}

/** Writes lines as the store does, up to a number of events. */
class CountingLines implements EventSink {
  events = 0
  readonly #lines = new NdjsonWriter(pieceBytes)
  readonly #most: number

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  get hasEnough(): boolean {
    return this.events >= this.#most
  }

  event(stream: ReadStream, block: Block, index: number): boolean {
    this.events++
    return this.#lines.event(stream, block, index) && !this.hasEnough
  }

  run(stream: ReadStream, block: Block, from: number, to: number): boolean {
    const end = Math.min(to, from + this.#most - this.events)
    this.events += end - from
    return this.#lines.run(stream, block, from, end) && !this.hasEnough
  }

  clear(): void {
    this.#lines.clear()
  }
}

/** Parses all payloads. */
class ParsingSink implements EventSink {
  events = 0

  event(_stream: ReadStream, block: Block, index: number): boolean {
    if ((JSON.parse(block.payload(index)) as { id?: number }).id !== undefined) this.events++
    return true
  }
}

/** The baseline: blocks as plain rows, read by a connection with a cold cache. */
class RowsOfBlocks {
  readonly #file: string
  readonly #sizes: readonly number[]

  constructor(workspace: Workspace, blocks: readonly BareBlock[]) {
    this.#file = workspace.newFile()
    this.#sizes = blocks.map(({ raw }) => raw)
    const rows = new BareRows(this.#file)
    rows.fill(blocks.map(({ packed }) => packed))
    rows.close()
  }

  measure(count: number): number {
    const rows = new BareRows(this.#file)
    try {
      return time(() => {
        for (let i = 0; i < count; i++) decompressed({ packed: rows.read(i + 1), raw: this.#sizes[i] ?? 0 })
      })
    } finally {
      rows.close()
    }
  }
}

/** Checks the number of results, so that no figure is reported for work that was not done. */
function expect(events: number, least: number, most: number): void {
  if (events < least || events > most) throw new Error(`${events} events were read instead of ${most}`)
}
