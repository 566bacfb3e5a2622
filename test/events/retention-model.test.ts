import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundsOf, prunable } from '../../src/events/retention/prunable.ts'
import type { ChunkSize, FrameTime } from '../../src/store/index.ts'
import * as fc from '../support/property.ts'
import { type Limits, publish, type Stored, World } from './retention/world.ts'

/** The retention limits of the specification, for one event. */
interface Rule {
  readonly maxEvents: number
  readonly maxBytes: number
  readonly maxMicros: number
}

/** Whether an event must be retained by the definition: it is within all limits. */
function isRetained(
  { offset, time }: Pick<Stored, 'offset' | 'time'>,
  bytesAfter: number,
  count: number,
  now: number,
  rule: Rule,
): boolean {
  return offset >= count - rule.maxEvents && time >= now - rule.maxMicros && bytesAfter < rule.maxBytes
}

/** Number of pruned events: those of the leading complete chunks without an event that must be retained. */
function expected(
  events: readonly Pick<Stored, 'offset' | 'time'>[],
  chunks: readonly ChunkSize[],
  now: number,
  rule: Rule,
): number {
  const count = chunks.at(-1)?.end ?? 0
  let pruned = chunks[0]?.first ?? 0
  for (const [i, { first, end, complete }] of chunks.entries()) {
    const bytesAfter = chunks.slice(i + 1).reduce((sum, { bytes }) => sum + bytes, 0)
    const inside = events.filter(({ offset }) => offset >= first && offset < end)
    if (!complete || inside.some((event) => isRetained(event, bytesAfter, count, now, rule))) return pruned
    pruned = end
  }
  return pruned
}

/**
 * Where a chunk is cut that is not pruned as a whole: if it has 128 events too many, or its first one is half too old,
 * after all frames without an event that must be retained. Events from when the clock was ahead do not retain others.
 */
function expectedWithin(
  events: readonly Pick<Stored, 'offset' | 'time'>[],
  frames: readonly FrameTime[],
  first: number,
  count: number,
  now: number,
  rule: Rule,
): number {
  const time = events.find(({ offset }) => offset === first)?.time ?? now
  const isDue = time < now - 1.5 * rule.maxMicros || (time > now && Number.isFinite(rule.maxMicros))
  if (count - rule.maxEvents - first < 128 && !isDue) return first
  const retained = events.filter((event) => isRetained(event, 0, count, now, { ...rule, maxBytes: Infinity }))
  const stop = retained.find(({ offset, time }) => offset >= first && time <= now)?.offset ?? Infinity
  const isExpired = ({ end }: FrameTime, i: number): boolean => {
    const start = frames[i - 1]?.end ?? first
    return end <= stop && !retained.some(({ offset }) => offset >= start && offset < end)
  }
  return Math.max(first, ...frames.filter(isExpired).map(({ end }) => end))
}

const noRule: Rule = { maxEvents: Infinity, maxBytes: Infinity, maxMicros: Infinity }

test('complete chunks are pruned up to the first one with an event within all limits', async () => {
  const times = fc.array(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 5 }), { maxLength: 8 })
  const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined })
  const limits = fc.record({ maxEvents: limit(40), maxBytes: limit(400), maxAgeSeconds: limit(100) })
  const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 8, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(times, sizes, limits, fc.nat(20), fc.boolean(), async (times, sizes, limits, start, open) => {
      const events: { offset: number; time: number }[] = []
      const chunks = times.map((inside, i) => {
        const first = start + events.length
        for (const time of inside) events.push({ offset: start + events.length, time: time * 1e6 })
        const complete = !open || i < times.length - 1
        return { first, end: start + events.length, bytes: sizes[i] ?? 1, complete }
      })
      const now = 100e6
      const rule: Rule = {
        maxEvents: limits.maxEvents ?? Infinity,
        maxBytes: limits.maxBytes ?? Infinity,
        maxMicros: (limits.maxAgeSeconds ?? Infinity) * 1e6,
      }
      const bounds = boundsOf(chunks, defined(limits), now)
      const found = await prunable(chunks, defined(limits), bounds, async ({ first, end }, from, before) =>
        events
          .filter(({ offset }) => offset >= Math.max(first, from) && offset < end)
          .every(({ time }) => time < before),
      )
      assert.equal(Math.max(found, chunks[0]?.first ?? 0), expected(events, chunks, now, rule))
    }),
    { numRuns: 3000 },
  )
})

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function defined<T extends object>(limits: T): Defined<T> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) as Defined<T>
}

const bytesPerUnit = { '': 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }
const secondsPerUnit = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

/** A text with a unit and its value, near a value in the smallest unit. */
function measure<Unit extends string>(
  units: Readonly<Record<Unit, number>>,
  near: fc.Arbitrary<number>,
  least: number,
) {
  const unit = fc.constantFrom(...(Object.keys(units) as Unit[]))
  return fc.tuple(unit, near).map(([unit, value]) => {
    const amount = Math.max(least, Math.round(value / units[unit]))
    return { text: `${amount}${unit}`, value: amount * units[unit] }
  })
}

const routes = [{ from: "'logs'", into: 'logs' }]

type Step = { readonly publish: 'chunk' | 'large' | 'one' } | { readonly seconds: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ publish: fc.constantFrom('chunk', 'large', 'one') }),
  // Also backwards, so that timestamps do not ascend.
  fc.record({ seconds: fc.oneof(fc.integer({ min: -1000, max: 7200 }), fc.integer({ min: 0, max: 3e6 })) }),
)
const someLimits = fc.record({
  maxEvents: fc.option(fc.integer({ min: 1, max: 6000 }), { nil: undefined }),
  maxSize: fc.option(measure(bytesPerUnit, fc.integer({ min: 1, max: 5e6 }), 1), { nil: undefined }),
  maxAge: fc.option(measure(secondsPerUnit, fc.integer({ min: 1, max: 1e7 }), 10), { nil: undefined }),
})

async function perform(world: World, events: Awaited<ReturnType<World['open']>>, step: Step): Promise<void> {
  if ('seconds' in step) {
    world.clock.wall += step.seconds * 1e6
    world.clock.passed += Math.max(0, step.seconds) * 1e6
  } else if (step.publish === 'chunk') await publish(events, 1024, 'logs')
  else await publish(events, 1, 'logs', step.publish === 'large' ? 'x'.repeat(1_100_000) : null)
}

test('a node retains the events within its limits, and prunes all other complete chunks and overdue frames', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.array(step, { maxLength: 8 }), someLimits), { minLength: 1, maxLength: 3 }),
      async (rounds) => {
        const world = new World()
        const all: Stored[] = []
        for (const [steps, { maxEvents, maxSize, maxAge }] of rounds) {
          const limits: Limits = {
            ...(maxEvents !== undefined && { maxEvents }),
            ...(maxSize !== undefined && { maxSize: maxSize.text }),
            ...(maxAge !== undefined && { maxAge: maxAge.text }),
          }
          const events = await world.open({ routes })
          for (const step of steps) await perform(world, events, step)
          // A new run without state of the previous one.
          const again = await world.open({ routes, streams: { logs: limits } })
          // The clock may be doubted at the start.
          world.pass(1800)
          const before = (await world.events()).filter(({ stream }) => stream === 1)
          all.push(...before.filter(({ offset }) => offset >= all.length))
          const number = (await world.store.streams()).find(({ key }) => key.number === 1)?.number
          const chunks = number === undefined ? [] : await world.store.chunkSizes(number)
          const frames = await Promise.all(
            chunks.map(({ first }) => world.store.framesOfChunk(number as number, first)),
          )
          await again.prune()
          const rule = {
            ...noRule,
            ...(maxEvents !== undefined && { maxEvents }),
            ...(maxSize !== undefined && { maxBytes: maxSize.value }),
            ...(maxAge !== undefined && { maxMicros: maxAge.value * 1e6 }),
          }
          const left = (await world.events()).filter(({ stream }) => stream === 1)
          const whole = expected(all, chunks, world.clock.wall, rule)
          const rest = chunks.findIndex(({ end }) => end > whole)
          const within = [frames[rest] ?? [], whole, all.length, world.clock.wall, rule] as const
          const start = rest === -1 ? whole : expectedWithin(all, ...within)
          assert.deepEqual(
            left,
            before.filter(({ offset }) => offset >= start),
          )
        }
      },
    ),
    { numRuns: 60 },
  )
})
