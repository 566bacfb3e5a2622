import { deepEqual, ok } from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import type { EventSink } from '../../src/store/port/index.ts'
import { buildSeal, LogCursor, LogReader, LogWriter } from '../../src/store/sqlite/index.ts'
import { appHash } from '../../src/store/sqlite/tag-index/tag-index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

type Block = Parameters<EventSink['event']>[1]

/** Collects streams and offsets of events, a few at a time. */
class Places implements EventSink {
  readonly found: [stream: number, offset: number][] = []
  readonly #atOnce: number

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  event({ number }: { number: number }, block: Block, index: number): boolean {
    this.found.push([number, block.first + index])
    return this.found.length % this.#atOnce !== 0
  }
}

type Step =
  | { readonly kind: 'append'; readonly stream: number; readonly count: number; readonly tag: 'a' | 'b' }
  | { readonly kind: 'read' }
  | { readonly kind: 'seal' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      stream: fc.nat(3),
      count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(1100)),
      tag: fc.constantFrom('a' as const, 'b' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('seal' as const) }) },
)

test('a live cursor delivers present and then new events exactly once, and each burst in order', (t) => {
  const folder = temporaryFolder(t)
  const key = KeyPair.generate(systemRandom)
  let files = 0
  const run = (before: Step[], after: Step[], lower: Map<number, number>, atOnce: number): void => {
    const file = join(folder, `${files++}.db`)
    const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 1, random: systemRandom })
    const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
    /** Positions of selected events that were not read yet, by lamport timestamp. */
    let expected: [number, number][] = []
    let cursor: LogCursor | undefined
    const read = (): void => {
      const sink = new Places(atOnce)
      const snapshot = reader.snapshot()
      cursor?.extend(snapshot)
      cursor ??= new LogCursor(reader, { anyOf: [{ tags: ['a'] }], order: 'asc', lower }, { live: snapshot })
      while (!cursor.run(sink));
      deepEqual(sink.found, expected)
      expected = []
    }
    const seal = (): void => {
      for (let plan = writer.upkeep.planSeal(); plan !== undefined; plan = writer.upkeep.planSeal())
        writer.upkeep.applySeal(buildSeal(writer.database, plan))
    }
    const append = ({ stream, count, tag }: Extract<Step, { kind: 'append' }>): void => {
      const events = Array.from({ length: count }, () => ({ appId: 'app', tags: [tag], payload: '1' }))
      const [appended] = writer.append([{ ...packed(events), streams: new Uint32Array(count).fill(stream) }])
      const number = reader.streams().find(({ key }) => key.number === stream)?.number as number
      const first = appended?.runs[0]?.offset as number
      const places = Array.from({ length: count }, (_, i): [number, number] => [number, first + i])
      if (tag === 'a') expected.push(...places.filter(([, offset]) => offset > (lower.get(number) ?? -1)))
    }
    const take = (one: Step): void => {
      if (one.kind === 'read') read()
      else if (one.kind === 'seal') seal()
      else append(one)
    }
    try {
      for (const one of before) if (one.kind !== 'read') take(one)
      read()
      for (const one of after) take(one)
      read()
    } finally {
      reader.close()
      writer.close()
      rmSync(file)
    }
  }
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 6 }),
      fc.array(step, { maxLength: 12 }),
      fc.array(fc.tuple(fc.nat(3), fc.nat(30)), { maxLength: 2 }),
      fc.integer({ min: 1, max: 9 }),
      (before, after, lower, atOnce) => run(before, after, new Map(lower), atOnce),
    ),
    { numRuns: 100 },
  )
})

test('a subscription to one app is woken by every commit with events of that app, and by no other', (t) => {
  const folder = temporaryFolder(t)
  const key = KeyPair.generate(systemRandom)
  const app = fc.constantFrom('a', 'b', 'a'.repeat(200))
  let files = 0
  const run = (wanted: string, requests: readonly (readonly [apps: string[], stream: number])[]): void => {
    const file = join(folder, `${files++}.db`)
    const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 1, random: systemRandom })
    const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
    try {
      writer.counts.setWakeupFilter(0, { app: appHash(wanted) })
      const live = reader.snapshot()
      const cursor = new LogCursor(reader, { anyOf: [{ tags: [], appId: wanted }], order: 'asc' }, { live })
      writer.takeWakeups()
      for (const [apps, stream] of requests) {
        const events = apps.map((appId) => ({ appId, tags: [], payload: '1' }))
        writer.append([{ ...packed(events), streams: new Uint32Array(apps.length).fill(stream) }])
        deepEqual(writer.takeWakeups(), apps.includes(wanted) ? [0] : [])
        cursor.extend(reader.snapshot())
        const sink = new Places(1)
        while (!cursor.run(sink));
        deepEqual(sink.found.length, apps.filter((appId) => appId === wanted).length)
      }
      writer.counts.setWakeupFilter(0, 'none')
      writer.append([{ ...packed([{ appId: wanted, tags: [], payload: '1' }]), streams: new Uint32Array(1) }])
      deepEqual(writer.takeWakeups(), [])
    } finally {
      reader.close()
      writer.close()
      rmSync(file)
    }
  }
  const request = fc.tuple(fc.array(app, { minLength: 1, maxLength: 4 }), fc.nat(2))
  fc.assert(fc.property(app, fc.array(request, { maxLength: 8 }), run), { numRuns: 50 })
})

test('a subscription to one app is woken by received events of that app, and by no other that come in order', async (t) => {
  const key = KeyPair.generate(systemRandom)
  const shared = { topic: 't', kind: 'live', now: () => 1 } as const
  const other = new MemoryEventStore({ runtime: systemRuntime, ...shared, key: KeyPair.generate(systemRandom) })
  const writer = new LogWriter({ ...shared, key, file: join(temporaryFolder(t), 'log.db'), random: systemRandom })
  t.after(() => writer.close())
  writer.counts.setWakeupFilter(0, { app: appHash('wanted') })
  writer.takeWakeups()
  let count = 0
  const chunkOf = async (...apps: readonly string[]): Promise<Uint8Array> => {
    const events = apps.map((appId) => ({ appId, tags: [], payload: '1' }))
    await other.append({ ...packed(events), streams: new Uint32Array(apps.length) })
    const chunk = (await other.chunk(0, count)) as Uint8Array
    count += apps.length
    return chunk
  }
  for (const apps of [['b'], ['b', 'wanted'], ['b', 'c'], ['wanted'], ['c']]) {
    deepEqual(writer.receive(await chunkOf(...apps)), { state: 'stored', count })
    deepEqual(writer.takeWakeups(), apps.includes('wanted') ? [0] : [], apps.join())
  }
  // A chunk that starts with known events is not looked into.
  const overlapping = (await other.chunk(0, count - 1)) as Uint8Array
  deepEqual(writer.receive(overlapping), { state: 'known', count })
  deepEqual(writer.takeWakeups(), [])
})

test('events of another node that a prune record makes available wake a subscription to one app', async (t) => {
  const key = KeyPair.generate(systemRandom)
  const shared = { topic: 't', kind: 'live', now: () => 1 } as const
  const other = new MemoryEventStore({ runtime: systemRuntime, ...shared, key: KeyPair.generate(systemRandom) })
  const chunk = format.eventsPerCheckpoint
  let begun: Uint8Array | undefined
  for (const count of [4, chunk - 4, 5]) {
    const events = Array.from({ length: count }, () => ({ appId: 'a', tags: [], payload: '1' }))
    await other.append({ ...packed(events), streams: new Uint32Array(count) })
    begun ??= await other.chunk(0, 0)
  }
  const [checkpoint] = await other.checkpoints(0)
  const late = (await other.chunk(0, chunk)) as Uint8Array
  const record = await other.prune(0, chunk)
  const writer = new LogWriter({ ...shared, key, file: join(temporaryFolder(t), 'log.db'), random: systemRandom })
  t.after(() => writer.close())
  writer.counts.setWakeupFilter(0, { app: appHash('a') })
  writer.receive(begun as Uint8Array)
  writer.takeWakeups()
  deepEqual(writer.receive(late, { before: checkpoint?.head }), { state: 'waiting', count: 4 })
  deepEqual(writer.takeWakeups(), [])
  writer.applyPrune(record, checkpoint?.head)
  deepEqual(writer.counts.count(0), chunk + 5)
  deepEqual(writer.takeWakeups(), [0])
})

for (const sealed of [true, false])
  test(`a cursor skips ${sealed ? 'sealed' : 'unsealed'} events that were pruned meanwhile without reading them`, (t) => {
    const key = KeyPair.generate(systemRandom)
    const file = join(temporaryFolder(t), 'log.db')
    const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 1, random: systemRandom })
    t.after(() => writer.close())
    const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
    t.after(() => reader.close())
    const [chunk, chunks] = [format.eventsPerCheckpoint, 8]
    const events = Array.from({ length: chunk }, (_, i) => ({ appId: 'app', tags: [`${i % 2}`], payload: '1' }))
    for (let i = 0; i < chunks; i++) writer.append([{ ...packed(events), streams: new Uint32Array(chunk) }])
    if (sealed) writer.sealAll()
    const cursors = (['asc', 'desc'] as const).flatMap((order) =>
      [[], ['0']].map((tags) => {
        const cursor = new LogCursor(reader, { anyOf: [{ tags }], order })
        const sink = new Places(10)
        cursor.run(sink)
        const step = (order === 'asc' ? 1 : -1) * (tags.length + 1)
        const first = order === 'asc' ? 0 : chunk * chunks - 1 - tags.length
        return { cursor, sink, first, step }
      }),
    )
    const left = (chunks - 1) * chunk
    writer.prune(0, left)
    let lookups = 0
    const block = reader.block.bind(reader)
    reader.block = (...place) => {
      lookups++
      return block(...place)
    }
    for (const { cursor, sink, first, step } of cursors) {
      while (!cursor.run(sink));
      const all = Array.from({ length: (chunks * chunk) / Math.abs(step) }, (_, i) => first + i * step)
      const expected = all.filter((offset, i) => i < 10 || offset >= left)
      deepEqual(
        sink.found.map(([, offset]) => offset),
        expected,
      )
    }
    ok(lookups < 100, `${lookups} lookups of blocks`)
  })
