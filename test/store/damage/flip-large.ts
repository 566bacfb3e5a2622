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
import { systemClock } from '../../../src/runtime/clock.ts'
import type { Selection } from '../../../src/store/port/index.ts'
import { bucketOf, postingKey, tagHash } from '../../../src/store/sqlite/index/tag-index.ts'
import { LogReader, type LogWriter } from '../../../src/store/sqlite/index.ts'
import { offsetOf, streamOf } from '../../../src/store/sqlite/rows/row-key.ts'
import type { Flipped } from './children.ts'
import { judgeAnswer, tellsDamage, type Verdict } from './judge.ts'
import { largeKey, openLarge, tagOf } from './large-store.ts'
import { type PagePlace, placesOf } from './pages.ts'
import { type Answer, linesOf } from './questions.ts'

/**
 * A process of its own, since damage may end or stop it: flips random bits of a large store. Asking for everything each
 * time would take hours, so it asks for what stands where the bit is, and for something else.
 */
const [original = '', flips = '0', seed = ''] = process.argv.slice(2)
const random = new Random(seed)
const folder = mkdtempSync(join(original, '..', 'flip-'))
const sound = readFileSync(original)
const file = join(folder, 'damaged.db')
copyFileSync(original, file)
// Never closed while a connection is open: that would give up the locks that it has.
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

interface Question {
  readonly text: string
  readonly ask: (store: OpenStore) => Answer
}

function selected(text: string, selection: Selection): Question {
  return { text, ask: ({ reader }) => linesOf(reader, selection) }
}

function value(text: string, work: (store: OpenStore) => unknown): Question {
  return { text, ask: (store) => attempt(() => work(store)) }
}

function attempt(work: () => unknown): Answer {
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

/** Answers of the sound store, by question: many questions come again. */
const rightAnswers = new LruCache<string, Buffer>(512 * 1024 * 1024)

function rightAnswer({ text, ask }: Question): Buffer {
  const known = rightAnswers.get(text)
  if (known !== undefined) return known
  const { bytes } = ask(right)
  rightAnswers.set(text, bytes, bytes.length)
  return bytes
}

function between(stream: number, first: number, last: number): Pick<Selection, 'lower' | 'upper'> {
  return { lower: new Map([[stream, first - 1]]), upper: new Map([[stream, last]]) }
}

const right = openStore(original)
const streams = right.reader.status()
const places = placesOf(original)
const eventsOfPosting = eventsByPosting()

/** For each row of the index some events that are looked for in it. */
function eventsByPosting(): Map<number, Question[]> {
  const questionsOf = new Map<number, Question[]>()
  for (const { number, count, pruned } of streams) {
    const ranges = right.reader.ranges(number)
    for (let offset = pruned; offset < count; offset += 3) {
      const range = ranges.find(({ first, count: events }) => first <= offset && offset < first + events)
      if (range === undefined) continue
      const key = postingKey(range.id, bucketOf(tagHash(tagOf(number, offset)), range.bits))
      const questions = questionsOf.get(key) ?? []
      if (questions.length < 3) questionsOf.set(key, [...questions, questionAboutTag(number, offset)])
    }
  }
  return questionsOf
}

/** One event by its own tag. Not far from it: without an index, all events up to there are looked at. */
function questionAboutTag(stream: number, offset: number): Question {
  const tag = tagOf(stream, offset)
  return selected(tag, { anyOf: [{ tags: [tag] }], order: 'asc', ...between(stream, offset - 100, offset + 100) })
}

/** What a page can be wrong about. */
function questionsAbout({ table, isLeaf, keys }: PagePlace): Question[] {
  if (!isLeaf) return [selected('everything', { anyOf: [{ tags: [] }], order: 'asc' })]
  if (table === 'segment' || table === 'tail') return keys.flatMap(questionsAboutEvents)
  if (table === 'posting') return keys.flatMap((key) => eventsOfPosting.get(key) ?? []).slice(0, 6)
  return [
    value('checkpoints', ({ reader }) => streams.map(({ number }) => reader.checkpoints(number))),
    value('heads', ({ writer }) => streams.map(({ number }) => writer.head(number))),
    selected('rare', { anyOf: [{ tags: [], appId: 'com.example.rare' }], order: 'asc' }),
  ]
}

/** The events of a row, and in some other way, too: downwards and by a tag, or as the chunk that begins with it. */
function questionsAboutEvents(key: number): Question[] {
  const [stream, first] = [streamOf(key), offsetOf(key)]
  const bounds = between(stream, first, first + 2047)
  const others = [
    selected(`tag ${key}`, { anyOf: [{ tags: ['machine:3'] }], order: 'desc', ...bounds }),
    value(`chunk ${key}`, ({ reader, writer }) => chunkAt(reader, writer, stream, first)),
  ]
  return [
    selected(`events ${key}`, { anyOf: [{ tags: [] }], order: 'asc', ...bounds }),
    others[random.below(others.length)] as Question,
  ]
}

const chunkStarts = streams.map(
  ({ number }) => new Set([0, ...right.reader.checkpoints(number).map(({ count }) => count)]),
)

function chunkAt(reader: LogReader, writer: LogWriter, stream: number, first: number): Uint8Array | undefined {
  return chunkStarts[stream]?.has(first) ? reader.chunk(stream, first, writer.head(stream)) : undefined
}

/** Whatever is damaged, this has to be right, too. */
function questionsAboutSomething(): Question[] {
  const { number, count, pruned } = streams[random.below(streams.length)] as (typeof streams)[number]
  const offset = pruned + random.below(count - pruned)
  return [
    value('streams', ({ reader }) => reader.status()),
    selected(`${number}, ${offset}`, { anyOf: [{ tags: [] }], order: 'asc', ...between(number, offset, offset + 9) }),
    questionAboutTag(number, offset),
  ]
}

function judgeStore(questions: readonly Question[]): Verdict {
  let store: OpenStore
  try {
    store = openStore(file)
  } catch (error) {
    const why = String(error)
    return { outcome: tellsDamage(error) ? 'refused' : 'wrong', why }
  }
  try {
    let verdict: Verdict = { outcome: 'harmless', why: '' }
    for (const question of questions) {
      const next = judgeAnswer(question.text, [rightAnswer(question)], question.ask(store))
      if (next.outcome === 'wrong') return next
      if (next.outcome === 'detected') verdict = next
    }
    return verdict
  } finally {
    store.reader.close()
    store.writer.close()
  }
}

function flip(at: number, bit: number): void {
  writeSync(descriptor, Buffer.of((sound[at] as number) ^ (1 << bit)), 0, 1, at)
}

const found = Buffer.alloc(sound.length)

/** Whether the bytes are those of the sound store. Every write changes the first page, so looking there is enough mostly. */
function isSound(bytes: number): boolean {
  readSync(descriptor, found, 0, bytes, 0)
  return found.subarray(0, bytes).equals(sound.subarray(0, bytes)) && fstatSync(descriptor).size === sound.length
}

/** Opening does not write; but what is damaged may look as if something were to be done. */
function mend(at: number, thoroughly: boolean): void {
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
    const verdict = judgeStore([...(place === undefined ? [] : questionsAbout(place)), ...questionsAboutSomething()])
    mend(at, i % 100 === 0 || verdict.outcome === 'refused')
    const name = place === undefined ? 'no table' : `${place.table}${place.isLeaf ? '' : ', above its rows'}`
    process.send?.({ place: name, bit: `bit ${bit} of byte ${at}`, ...verdict } satisfies Flipped)
  }
} finally {
  right.reader.close()
  right.writer.close()
  closeSync(descriptor)
  rmSync(folder, { recursive: true, force: true })
  process.disconnect?.()
}
