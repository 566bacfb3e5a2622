import {
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { Random } from '../../../scripts/crash/random.ts'
import { LruCache } from '../../../src/base/lru-cache.ts'
import { nodeIdOf } from '../../../src/identity/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { Selection } from '../../../src/store/port/index.ts'
import { LogReader, type LogWriter } from '../../../src/store/sqlite/index.ts'
import { offsetOf, streamOf } from '../../../src/store/sqlite/rows/row-key.ts'
import { bucketOf, postingKey, tagHash } from '../../../src/store/sqlite/tag-index/tag-index.ts'
import type { Flipped } from './flip-processes.ts'
import { judgeResult } from './judge.ts'
import { isCutLike, isReportOfCut } from './judge-cut.ts'
import { largeKey, openLarge, tagOf } from './large-store.ts'
import { type PagePlace, placesOf } from './pages.ts'
import { linesOf, type Result } from './queries.ts'
import { reportsDamage, type Verdict } from './verdict.ts'

/**
 * A separate process, because damage may crash or hang it: flips random bits of a large store. Reading everything each
 * time would take hours, so it runs queries on the page of the bit, and some others.
 */
const [original = '', flips = '0', seed = ''] = process.argv.slice(2)
const random = new Random(seed)
const folder = mkdtempSync(join(original, '..', 'flip-'))
const sound = readFileSync(original)
const file = join(folder, 'damaged.db')
copyFileSync(original, file)
// Not closed while a connection is open: that would release its locks.
const descriptor = openSync(file, 'r+')
const pageBytes = 4096

interface OpenStore {
  readonly writer: LogWriter
  readonly reader: LogReader
}

function openStore(path: string): OpenStore {
  const writer = openLarge(path)
  try {
    return { writer, reader: new LogReader(path, writer.counts, largeKey.publicKey, systemClock) }
  } catch (error) {
    writer.close()
    throw error
  }
}

interface Query {
  readonly text: string
  readonly run: (store: OpenStore) => Result
}

function selected(text: string, selection: Selection): Query {
  return { text, run: ({ reader }) => linesOf(reader, selection) }
}

function value(text: string, work: (store: OpenStore) => unknown): Query {
  return { text, run: (store) => attempt(() => work(store)) }
}

function attempt(work: () => unknown): Result {
  try {
    const result = work()
    if (result instanceof Uint8Array) return { bytes: Buffer.from(result) }
    const json = JSON.stringify(result, (_, part: unknown) =>
      part instanceof Uint8Array ? Buffer.from(part).toString('hex') : part,
    )
    return { bytes: Buffer.from(json ?? '') }
  } catch (error) {
    return { bytes: Buffer.alloc(0), error }
  }
}

/** Cache of the results of the intact store, by query: many queries are repeated. */
const expectedResults = new LruCache<string, Buffer>(512 * 1024 * 1024)

function expectedResult({ text, run }: Query): Buffer {
  const cached = expectedResults.get(text)
  if (cached !== undefined) return cached
  const { bytes } = run(intact)
  expectedResults.set(text, bytes, bytes.length)
  return bytes
}

function between(stream: number, first: number, last: number): Pick<Selection, 'lower' | 'upper'> {
  return { lower: new Map([[stream, first - 1]]), upper: new Map([[stream, last]]) }
}

const intact = openStore(original)
const streams = intact.reader.status()
const places = placesOf(original)
const eventsOfPosting = eventsByPosting()

/** For each row of the index, queries of some events that use it. */
function eventsByPosting(): Map<number, Query[]> {
  const queriesOf = new Map<number, Query[]>()
  for (const { number, count, pruned } of streams) {
    const ranges = intact.reader.index.ranges(number)
    for (let offset = pruned; offset < count; offset += 3) {
      const range = ranges.find(({ first, count: events }) => first <= offset && offset < first + events)
      if (range === undefined) continue
      const key = postingKey(range.id, bucketOf(tagHash(tagOf(number, offset)), range.bits))
      const queries = queriesOf.get(key) ?? []
      if (queries.length < 3) queriesOf.set(key, [...queries, queryByTag(number, offset)])
    }
  }
  return queriesOf
}

/** Queries one event by its unique tag. Bounded, because without an index all events in between are scanned. */
function queryByTag(stream: number, offset: number): Query {
  const tag = tagOf(stream, offset)
  return selected(tag, { anyOf: [{ tags: [tag] }], order: 'asc', ...between(stream, offset - 100, offset + 100) })
}

/** Queries whose result depends on a page. */
function queriesOfPage({ table, isLeaf, keys }: PagePlace): Query[] {
  if (!isLeaf) return [selected('everything', { anyOf: [{ tags: [] }], order: 'asc' })]
  if (table === 'segment' || table === 'tail') return keys.flatMap(queriesOfEvents)
  if (table === 'posting') return keys.flatMap((key) => eventsOfPosting.get(key) ?? []).slice(0, 6)
  return [
    value('checkpoints', ({ reader }) => streams.map(({ number }) => reader.checkpoints(number))),
    value('heads', ({ writer }) => streams.map(({ number }) => writer.head(number))),
    selected('rare', { anyOf: [{ tags: [], appId: 'com.example.rare' }], order: 'asc' }),
  ]
}

/** Queries the events of a row, and in another way, too: descending by tag, or as the chunk that begins with it. */
function queriesOfEvents(key: number): Query[] {
  const [stream, first] = [streamOf(key), offsetOf(key)]
  const bounds = between(stream, first, first + 2047)
  const others = [
    selected(`tag ${key}`, { anyOf: [{ tags: ['machine:3'] }], order: 'desc', ...bounds }),
    value(`chunk ${key}`, ({ reader, writer }) => chunkAt(reader, writer, stream, first)),
  ]
  return [
    selected(`events ${key}`, { anyOf: [{ tags: [] }], order: 'asc', ...bounds }),
    others[random.below(others.length)] as Query,
  ]
}

const chunkStarts = streams.map(
  ({ number }) => new Set([0, ...intact.reader.checkpoints(number).map(({ count }) => count)]),
)

function chunkAt(reader: LogReader, writer: LogWriter, stream: number, first: number): Uint8Array | undefined {
  return chunkStarts[stream]?.has(first) ? reader.chunk(stream, first, writer.head(stream)) : undefined
}

/** Queries that have to be correct whatever is damaged. */
function randomQueries(): Query[] {
  const { number, count, pruned } = streams[random.below(streams.length)] as (typeof streams)[number]
  const offset = pruned + random.below(count - pruned)
  return [
    value('streams', ({ reader }) => reader.status()),
    selected(`${number}, ${offset}`, { anyOf: [{ tags: [] }], order: 'asc', ...between(number, offset, offset + 9) }),
    queryByTag(number, offset),
  ]
}

function judgeStore(queries: readonly Query[]): Verdict {
  let store: OpenStore
  try {
    store = openStore(file)
  } catch (error) {
    const why = String(error)
    return { outcome: reportsDamage(error) ? 'refused' : 'wrong', why }
  }
  try {
    let verdict: Verdict = { outcome: 'harmless', why: '' }
    if (isReportOfCut(store.writer.damage.map(({ text }) => text).join('\n'))) return judgeCutStore(store, queries)
    for (const query of queries) {
      const next = judgeResult(query.text, [expectedResult(query)], query.run(store))
      if (next.outcome === 'wrong') return next
      if (next.outcome === 'detected') verdict = next
    }
    return verdict
  } finally {
    store.reader.close()
    store.writer.close()
  }
}

/** After a cut, queries for events have to return all but the events that were cut off. */
function judgeCutStore(store: OpenStore, queries: readonly Query[]): Verdict {
  for (const query of queries) {
    const expected = expectedResult(query)
    const { bytes, error } = query.run(store)
    if (error !== undefined && !reportsDamage(error))
      return { outcome: 'wrong', why: `${query.text}: ${String(error)}` }
    if (error !== undefined || !expected.includes('"type":"event"')) continue
    if (!isCutLike(expected, bytes, nodeIdOf(largeKey.publicKey)))
      return { outcome: 'wrong', why: `${query.text}: is not what is left by a cut` }
  }
  return { outcome: 'cut', why: store.writer.damage.map(({ text }) => text).join('\n') }
}

function flip(at: number, bit: number): void {
  writeSync(descriptor, Buffer.of((sound[at] as number) ^ (1 << bit)), 0, 1, at)
}

const found = Buffer.alloc(sound.length)

/** Whether the file is intact. Every write changes the first page, so usually that page is enough. */
function isSound(bytes: number): boolean {
  readSync(descriptor, found, 0, bytes, 0)
  return found.subarray(0, bytes).equals(sound.subarray(0, bytes)) && fstatSync(descriptor).size === sound.length
}

/** Restores the file. Opening does not write, but damage may trigger a write. */
function restore(at: number, thoroughly: boolean): void {
  writeSync(descriptor, sound, at, 1, at)
  if (isSound(thoroughly ? sound.length : pageBytes)) return
  writeSync(descriptor, sound, 0, sound.length, 0)
  ftruncateSync(descriptor, sound.length)
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
}

try {
  for (let i = 0; i < Number(flips); i++) {
    const [at, bit] = [random.below(sound.length), random.below(8)]
    const place = places.get(1 + Math.floor(at / pageBytes))
    flip(at, bit)
    const verdict = judgeStore([...(place === undefined ? [] : queriesOfPage(place)), ...randomQueries()])
    restore(at, i % 100 === 0 || verdict.outcome === 'refused')
    const name = place === undefined ? 'no table' : `${place.table}${place.isLeaf ? '' : ', above its rows'}`
    process.send?.({ place: name, bit: `bit ${bit} of byte ${at}`, ...verdict } satisfies Flipped)
  }
} finally {
  intact.reader.close()
  intact.writer.close()
  closeSync(descriptor)
  rmSync(folder, { recursive: true, force: true })
  process.disconnect?.()
}
