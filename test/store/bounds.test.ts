import { deepEqual } from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { Order, Selection } from '../../src/store/port/index.ts'
import { LogCursor, LogReader, LogWriter } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

interface Place {
  readonly stream: number
  readonly lamport: number
}

const batch = fc.record({ stream: fc.nat(2), count: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(700)) })

test('bounds of lamport timestamps are applied without reading events outside of them', (t) => {
  const folder = temporaryFolder(t)
  const key = KeyPair.generate(systemRandom)
  let files = 0
  const run = (
    batches: { stream: number; count: number }[],
    seal: boolean,
    parts: [number, number],
    order: Order,
  ): void => {
    const file = join(folder, `${files++}.db`)
    const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 1, random: systemRandom })
    const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
    try {
      const all: Place[] = batches.flatMap(({ stream, count }) => {
        const events = Array.from({ length: count }, () => ({ appId: 'app', tags: ['t'], payload: '1' }))
        const [appended] = writer.append([{ ...packed(events), streams: new Uint32Array(count).fill(stream) }])
        return events.map((_, i) => ({ stream, lamport: (appended?.lamport ?? 0) + i }))
      })
      if (seal) writer.sealAll()
      const [from, to] = parts.map((part) => Math.round(part * (all.length + 2)) - 1) as [number, number]
      const found = pull(reader, { anyOf: [{ tags: ['t'] }], order, lamports: { from, to } })
      const expected = all.filter(({ lamport }) => lamport >= from && lamport <= to)
      if (order === 'desc') expected.reverse()
      deepEqual(found, expected)
    } finally {
      reader.close()
      writer.close()
    }
  }
  const part = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(
      fc.array(batch, { maxLength: 12 }),
      fc.boolean(),
      fc.tuple(part, part),
      fc.constantFrom<Order>('asc', 'desc'),
      run,
    ),
    { numRuns: 100 },
  )
})

/** Takes events one by one, sometimes with a new slice. */
function pull(reader: LogReader, selection: Selection): Place[] {
  const cursor = new LogCursor(reader, selection)
  const found: Place[] = []
  cursor.begin()
  for (let at = cursor.next(); at !== undefined; at = cursor.next()) {
    found.push({ stream: at.stream.key.number, lamport: at.block.lamports[at.index] as number })
    if (found.length % 3 === 0) cursor.begin()
  }
  return found
}
