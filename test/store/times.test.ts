import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { Order, TimeRange } from '../../src/store/port/index.ts'
import { LogCursor, LogReader, LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openLog } from '../support/log.ts'
import * as fc from '../support/property.ts'

interface Event {
  readonly stream: number
  readonly offset: number
  readonly lamport: number
  readonly time: number
  readonly tag: string
}

/** Equal times, small steps in both directions, and times far apart. */
const time = fc.oneof(fc.integer({ min: 1000, max: 1020 }), fc.constantFrom(0, 1, 8_000_000_000_000_000))
const range = fc.tuple(time, time).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) + 1 }))

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      stream: fc.nat(2),
      count: fc.constantFrom(1, 2, 130, 700),
      time,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('seal' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const), stream: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('redact' as const), stream: fc.nat(2), pick: fc.nat() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('query' as const),
      range,
      order: fc.constantFrom<Order>('asc', 'desc'),
      tag: fc.constantFrom(undefined, 'all', 'few', 'none'),
      isSealedMeanwhile: fc.boolean(),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A log, and a naive model of its events. */
class World {
  readonly writer: LogWriter
  readonly reader: LogReader
  events: Event[] = []
  #now = 0

  constructor(file: string) {
    const key = KeyPair.generate(systemRandom)
    const options = { file, topic: 't', kind: 'live', key, now: () => this.#now, random: systemRandom } as const
    this.writer = new LogWriter(options)
    this.reader = new LogReader(file, this.writer.counts, key.publicKey, systemClock)
  }

  run(step: Step): void {
    if (step.kind === 'append') this.#append(step)
    else if (step.kind === 'seal') this.writer.sealAll()
    else if (step.kind === 'prune') this.#prune(step.stream)
    else if (step.kind === 'redact') this.#redact(step)
    else this.#query(step)
  }

  #append({ stream, count, time }: Extract<Step, { kind: 'append' }>): void {
    this.#now = time
    const known = this.reader.status().find(({ key }) => key.number === stream)
    const offset = known?.count ?? 0
    const tags = Array.from({ length: count }, (_, i) => (i % 40 === 3 ? 'few' : 'other'))
    const events = tags.map((tag) => ({ appId: 'app', tags: ['all', tag], payload: '1' }))
    const [appended] = this.writer.append([{ ...packed(events), streams: new Uint32Array(count).fill(stream) }])
    const lamport = appended?.lamport ?? 0
    const number = known?.number ?? this.reader.streams().find(({ key }) => key.number === stream)?.number ?? -1
    for (const [i, tag] of tags.entries())
      this.events.push({ stream: number, offset: offset + i, lamport: lamport + i, time, tag })
  }

  #prune(stream: number): void {
    const known = this.reader.status().find(({ key }) => key.number === stream)
    const checkpoint = known && this.reader.checkpoints(known.number).at(-1)
    if (known === undefined || checkpoint === undefined) return
    this.writer.prune(stream, checkpoint.count)
    this.events = this.events.filter(({ stream, offset }) => stream !== known.number || offset >= checkpoint.count)
  }

  #redact({ stream, pick }: Extract<Step, { kind: 'redact' }>): void {
    const number = this.reader.streams().find(({ key }) => key.number === stream)?.number
    const own = this.events.filter((event) => event.stream === number)
    const event = own[pick % Math.max(1, own.length)]
    if (event === undefined) return
    this.writer.redact(stream, [event.offset])
    this.events = this.events.filter((other) => other !== event)
  }

  #query({ range, order, tag, isSealedMeanwhile }: Extract<Step, { kind: 'query' }>): void {
    const anyOf = [{ tags: tag === undefined ? [] : [tag] }]
    const cursor = new LogCursor(this.reader, { anyOf, order, times: range })
    const found: Event[] = []
    do {
      // A deadline in the past: the cursor pauses as often as it can.
      cursor.begin(0)
      for (let at = cursor.next(); at !== undefined; at = cursor.next()) {
        const [time, lamport] = [at.block.times[at.index] as number, at.block.lamports[at.index] as number]
        const labels = at.block.labels(at.index)
        const offset = at.block.first + at.index
        const tag = labels.tags.find((tag) => tag !== 'all') ?? ''
        found.push({ stream: at.stream.number, offset, lamport, time, tag })
      }
      if (isSealedMeanwhile) this.writer.sealAll()
    } while (cursor.isPending)
    deepEqual(inTime(found, range), this.#expected(range, order, tag))
  }

  #expected(range: TimeRange, order: Order, tag: string | undefined): Event[] {
    const isTagged = (event: Event): boolean => tag === undefined || tag === 'all' || event.tag === tag
    const selected = inTime(this.events.filter(isTagged), range)
    selected.sort((a, b) => a.lamport - b.lamport)
    return order === 'desc' ? selected.reverse() : selected
  }

  close(): void {
    this.reader.close()
    this.writer.close()
  }
}

function inTime(events: readonly Event[], { from, to }: TimeRange): Event[] {
  return events.filter(({ time }) => time >= from && time < to)
}

test('queries by time find what a naive model finds, while events are sealed, pruned and redacted', (t) => {
  const folder = temporaryFolder(t)
  let files = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const file = join(folder, `${files++}.db`)
      const world = new World(file)
      try {
        for (const step of steps) world.run(step)
      } finally {
        world.close()
      }
      deepEqual(verifyLog(file).problems, [])
    }),
    { numRuns: 40 },
  )
})

test('a query by time reads only the blocks that can match, sealed or not', (t) => {
  let now = 0
  const { writer, reader } = openLog(t, () => now)
  for (let i = 0; i < 40; i++) {
    now = 1000 + i
    const events = Array.from({ length: 512 }, () => ({ appId: 'app', tags: ['all'], payload: '1' }))
    writer.append([{ ...packed(events), streams: new Uint32Array(512) }])
    if (i === 35) writer.sealAll()
  }
  const readBlocks = (from: number, to: number, order: Order): number => {
    const cursor = new LogCursor(reader, { anyOf: [{ tags: [] }], order, times: { from, to } })
    const blocks = new Set<unknown>()
    for (let at = cursor.next(); at !== undefined; at = cursor.next()) blocks.add(at.block)
    return blocks.size
  }
  // The first query over unsealed events indexes them.
  readBlocks(1000, 1100, 'asc')
  for (const order of ['asc', 'desc'] as const) {
    equal(readBlocks(2000, 3000, order), 0, 'after all events')
    equal(readBlocks(0, 1000, order), 0, 'before all events')
    ok(readBlocks(1010, 1011, order) <= 6, 'sealed')
    ok(readBlocks(1039, 2000, order) <= 6, 'not sealed')
    ok(readBlocks(1000, 2000, order) > 100, 'all')
  }
})

test('the times of a store of an earlier version are added in the background', (t) => {
  let now = 0
  const { writer, reader } = openLog(t, () => now)
  for (let i = 0; i < 4; i++) {
    now = 1000 + i
    const events = Array.from({ length: 1024 }, () => ({ appId: 'app', tags: ['all'], payload: '1' }))
    writer.append([{ ...packed(events), streams: new Uint32Array(1024) }])
  }
  writer.sealAll()
  const database = new DatabaseSync(writer.database.location() as string)
  t.after(() => database.close())
  database.exec('DELETE FROM times')
  const [range] = reader.index.ranges(0)
  ok(range !== undefined)
  equal(reader.index.times(range), undefined)
  const found = (): number => {
    const cursor = new LogCursor(reader, { anyOf: [{ tags: [] }], order: 'asc', times: { from: 1003, to: 1004 } })
    let count = 0
    while (cursor.next() !== undefined) count++
    return count
  }
  equal(found(), 4096, 'without times all events are read')
  writer.dropIndexAt(0, 0)
  writer.sealAll()
  equal(found(), 1024)
  ok(reader.index.times(range) !== undefined)
})
