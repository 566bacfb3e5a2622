import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { format } from '../../src/base/format.ts'
import { latestMicros } from '../../src/base/timestamps.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import type { AppendRequest } from '../../src/store/port/index.ts'
import { LogReader, LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'

const key = new KeyPair(Buffer.alloc(32, 7))
const right = Date.UTC(2026, 0, 1) * 1000

function requestOf(...payloads: string[]): AppendRequest {
  const events = payloads.map((payload) => ({ appId: 'com.example.app', tags: ['a'], payload }))
  return { ...packed(events), streams: new Uint32Array(events.length) }
}

const refused = { code: 'ERR_CLOCK', message: /The clock of this machine shows .* from 1970 to 2255/ }
const unstorable = [-1, -(10 ** 15), latestMicros + 1, 10 ** 17, Number.NaN]

test('a timestamp outside of the format range is never written, and writes work again once the clock is right', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  let time = right
  const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => time, random: systemRandom })
  const full = Array.from({ length: format.eventsPerCheckpoint }, () => '1')
  writer.append([requestOf(...full)])
  for (const wrong of unstorable) {
    time = wrong
    assert.throws(() => writer.append([requestOf('1')]), refused)
    assert.throws(() => writer.prune(0, format.eventsPerCheckpoint), refused)
    assert.throws(() => writer.redact(0, [0]), refused)
    assert.throws(() => writer.head(0), refused)
    time = right
    writer.append([requestOf('1')])
  }
  for (const edge of [0, latestMicros]) {
    time = edge
    assert.equal(writer.append([requestOf('1')])[0]?.time, edge)
  }
  writer.close()
  const { events, problems } = verifyLog(file)
  assert.deepEqual({ events, problems }, { events: full.length + unstorable.length + 2, problems: [] })
})

test('a clock that becomes wrong at the end of a chunk rolls the whole request back', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  let times: number[] = []
  const writer = new LogWriter({
    file,
    topic: 't',
    kind: 'live',
    key,
    now: () => times.shift() ?? right,
    random: systemRandom,
  })
  const full = Array.from({ length: format.eventsPerCheckpoint }, () => '1')
  // The head is signed last.
  times = [right, -1]
  assert.throws(() => writer.append([requestOf(...full)]), refused)
  assert.deepEqual(writer.append([requestOf('1')])[0]?.runs, [{ stream: 0, offset: 0, count: 1 }])
  writer.close()
  assert.deepEqual(verifyLog(file).problems, [])
})

test('the in-memory store refuses the same timestamps as the log', async () => {
  let time = right
  const store = new MemoryEventStore({ runtime: systemRuntime, topic: 't', kind: 'live', key, now: () => time })
  for (const wrong of unstorable) {
    time = wrong
    await assert.rejects(store.append(requestOf('1')), refused)
  }
  time = right
  assert.deepEqual((await store.append(requestOf('1'))).runs, [{ stream: 0, offset: 0, count: 1 }])
})

/**
 * A log of version 3.0.0, written with a wrong clock: first 3 events with the right one, then many requests, some
 * of them in one commit, and one that ends a chunk with a signed checkpoint. The payloads are consecutive numbers.
 */
function legacyLog(t: TestContext, year: string): string {
  const file = join(temporaryFolder(t), 'log.db')
  const packedLog = readFileSync(new URL(`./fixtures/clock/${year}.db.zst`, import.meta.url))
  writeFileSync(file, zstdDecompressSync(packedLog))
  return file
}

const legacyEvents = 1074

for (const [year, shown] of [
  ['1969', (time: number) => time >= 0 && time < 256],
  ['2300', (time: number) => time === latestMicros],
  ['9999', (time: number) => time === latestMicros],
] as const) {
  test(`a log written by an earlier version in ${year} can be opened, read and continued, and verifies with a note`, (t) => {
    const file = legacyLog(t, year)
    const open = () => new LogWriter({ file, topic: 't', kind: 'live', key, now: () => right, random: systemRandom })
    const writer = open()
    assert.deepEqual(writer.append([requestOf(String(legacyEvents))])[0]?.runs, [
      { stream: 0, offset: legacyEvents, count: 1 },
    ])
    writer.close()
    const reopened = open()
    const reader = new LogReader(file, reopened.counts, key.publicKey, systemClock)
    const [times, payloads] = [[] as number[], [] as string[]]
    for (let offset = 0; offset <= legacyEvents; ) {
      const block = reader.block(0, offset)
      assert.ok(block)
      for (; offset < block.first + block.count; offset++) {
        times.push(block.times[offset - block.first] as number)
        payloads.push(block.payload(offset - block.first))
      }
    }
    assert.deepEqual(
      payloads,
      Array.from({ length: legacyEvents + 1 }, (_, i) => String(i)),
    )
    assert.ok(times.slice(3, legacyEvents).every(shown), String(times.slice(0, 10)))
    assert.equal(times.at(-1), right)
    reopened.redact(0, [5])
    reader.close()
    reopened.close()
    const { events, problems, notes } = verifyLog(file)
    assert.deepEqual({ events, problems }, { events: legacyEvents + 1, problems: [] })
    assert.equal(notes.length, 1)
    assert.match(notes[0] ?? '', /stream 0: 1071 events were written while the clock was before 1970 or after 2255/)
  })

  test(`a store opens a log of ${year}, and does not retry endlessly to seal it`, async (t) => {
    const file = legacyLog(t, year)
    const store = await SqliteEventStore.open({ runtime: systemRuntime, file, topic: 't', kind: 'live', key })
    t.after(() => store.close())
    for (let i = 0; i < 3; i++) await store.append(requestOf(...Array.from({ length: 1024 }, () => '1')))
    let lines = 0
    for await (const piece of store.read({ anyOf: [{ tags: ['a'] }], order: 'desc' }))
      lines += Buffer.from(piece).toString().split('\n').length - 1
    assert.equal(lines, legacyEvents + 3 * 1024)
    await store.close()
    assert.deepEqual(verifyLog(file).problems, [])
  })
}
