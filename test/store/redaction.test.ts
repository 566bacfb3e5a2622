import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogReader, LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

const streams = 3

function open(file: string, key = KeyPair.generate(systemRandom)): LogWriter {
  return new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 0, random: systemRandom })
}

function append(writer: LogWriter, payloads: readonly string[]): void {
  const events = payloads.map((payload) => ({ appId: 'com.example', tags: [], payload: JSON.stringify(payload) }))
  writer.append([{ ...packed(events), streams: new Uint32Array(events.length) }])
}
/** Requests with few and with many events, for one or all streams, whose rows share pages or fill several. */
const requests = fc.array(
  fc.record({ count: fc.constantFrom(1, 3, 20, 100, 300), length: fc.nat(120), spread: fc.boolean() }),
  { minLength: 5, maxLength: 25 },
)

const reused = [
  { count: 300, length: 116, spread: true },
  { count: 20, length: 0, spread: false },
  { count: 20, length: 0, spread: false },
  { count: 20, length: 55, spread: false },
  { count: 300, length: 0, spread: false },
  { count: 300, length: 0, spread: false },
  { count: 3, length: 0, spread: false },
]

test('nothing of a redacted payload is left in the files, wherever its row was stored', (t) => {
  const folder = temporaryFolder(t)
  const key = KeyPair.generate(systemRandom)
  let stores = 0
  fc.assert(
    fc.property(requests, fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), (requests, chosen) => {
      const file = join(folder, `${stores++}.db`)
      const writer = open(file, key)
      const marks: { stream: number; offset: number; mark: string }[] = []
      const counts = new Array<number>(streams).fill(0)
      for (const [r, { count, length, spread }] of requests.entries()) {
        const of = Uint32Array.from({ length: count }, (_, i) => (spread ? i % streams : r % streams))
        const events = [...of].map((stream, i) => {
          const mark = `mark-${r}-${i}-`
          const offset = counts[stream] ?? 0
          counts[stream] = offset + 1
          marks.push({ stream, offset, mark })
          return { appId: 'com.example', tags: ['t'], payload: `"${mark}${'x'.repeat(length)}"` }
        })
        writer.append([{ ...packed(events), streams: of }])
      }
      for (const choice of chosen) {
        const found = marks[choice % marks.length]
        if (found === undefined) continue
        writer.redact(found.stream, [found.offset])
        for (const part of [file, `${file}-wal`].filter(existsSync))
          assert.ok(!readFileSync(part, 'latin1').includes(found.mark), `${found.mark} in ${part}`)
      }
      const several = marks.filter(({ stream }, i) => stream === 1 && i % 5 === 0).slice(0, format.rangesPerRedaction)
      if (several.length > 0)
        writer.redact(
          1,
          several.map(({ offset }) => offset),
        )
      for (const part of [file, `${file}-wal`].filter(existsSync))
        for (const { mark } of several) assert.ok(!readFileSync(part, 'latin1').includes(mark), `${mark} in ${part}`)
      writer.close()
    }),
    // A page that was freed and reused in one transaction: found after hundreds of other cases.
    { numRuns: 100, examples: [[reused, [284664010, 783158934, 0]]] },
  )
})

/** Rewriting a table changes the schema. */
function schemaVersion(writer: LogWriter): number {
  return Number(writer.database.prepare('PRAGMA schema_version').get()?.['schema_version'])
}

test('the number of rewrites does not depend on the number of events and records; without effect there is none', (t) => {
  const folder = temporaryFolder(t)
  const key = KeyPair.generate(systemRandom)
  const [source, writer] = [open(join(folder, 'source.db'), key), open(join(folder, 'log.db'))]
  const reader = new LogReader(join(folder, 'source.db'), source.counts, key.publicKey, systemClock)
  t.after(() => reader.close())
  for (const opened of [source, writer]) t.after(() => opened.close())
  for (const n of [0, 1])
    append(
      source,
      Array.from({ length: 1024 }, (_, i) => `${n}-${i}`),
    )
  writer.receive(reader.chunk(0, 0, source.head(0)) as Uint8Array)
  writer.sealAll()
  writer.receive(reader.chunk(0, 1024, source.head(0)) as Uint8Array)
  const rewrites = (offsets: readonly (readonly number[])[], states: readonly string[]): number => {
    const before = [schemaVersion(writer), writer.counts.removals] as const
    const results = writer.applyRedactions(offsets.map((list) => source.redact(0, list)))
    assert.deepEqual(
      results.map(({ state }) => state),
      states,
    )
    assert.equal(writer.counts.removals - before[1], states.includes('applied') ? 1 : 0)
    return schemaVersion(writer) - before[0]
  }
  const one = rewrites([[3]], ['applied'])
  assert.ok(one > 0)
  assert.equal(rewrites([Array.from({ length: 200 }, (_, i) => 10 * i + 4)], ['applied']), one)
  const burst = Array.from({ length: 100 }, (_, i) => [10 * i + 5, 1024 + 10 * i])
  const applied = new Array<string>(100).fill('applied')
  assert.equal(rewrites(burst, applied), one)
  assert.equal(rewrites(burst, new Array<string>(100).fill('known')), 0)
  assert.deepEqual(verifyLog(join(folder, 'log.db')).problems, [])
})

test('nothing is left of a payload in a waiting chunk that is redacted; other waiting chunks stay', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const writer = open(file)
  t.after(() => writer.close())
  const [first, second] = [0, 1].map((n) => {
    const key = KeyPair.generate(systemRandom)
    const source = open(join(folder, `${n}.db`), key)
    t.after(() => source.close())
    const reader = new LogReader(join(folder, `${n}.db`), source.counts, key.publicKey, systemClock)
    t.after(() => reader.close())
    append(source, ['x'])
    assert.equal(writer.receive(reader.chunk(0, 0, source.head(0)) as Uint8Array).state, 'stored')
    append(source, new Array<string>(1023).fill('x'))
    append(source, [`mark-${n}`, 'y'])
    const chunk = reader.chunk(0, 1024, source.head(0)) as Uint8Array
    const before = reader.checkpoints(0)[0]?.head as Uint8Array
    assert.equal(writer.receive(chunk, { before }).state, 'waiting')
    return { source, chunk, before }
  })
  const includes = (mark: string) =>
    [file, `${file}-wal`].some((part) => existsSync(part) && readFileSync(part, 'latin1').includes(mark))
  assert.deepEqual([includes('mark-0'), includes('mark-1')], [true, true])
  const record = first?.source.redact(0, [1024]) as Uint8Array
  assert.deepEqual(writer.applyRedactions([record]), [{ state: 'waiting' }])
  assert.deepEqual([includes('mark-0'), includes('mark-1')], [false, true])
  // Refused while it has the payload.
  const { chunk, before } = first as { chunk: Uint8Array; before: Uint8Array }
  assert.equal(writer.receive(chunk, { before }).state, 'gap')
  assert.equal(includes('mark-0'), false)
  assert.deepEqual(writer.database.prepare('SELECT count(*) AS chunks FROM waiting').get()?.['chunks'], 1)
  assert.ok(second !== undefined)
})

test('a record stays as long as one of its events, and the others point to it', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const writer = open(file)
  t.after(() => writer.close())
  for (let i = 0; i < 5; i++) append(writer, ['a', 'b'])
  const record = writer.redact(0, [0, 3, 4, 7])
  const stored = () =>
    writer.database
      .prepare('SELECT key, record FROM redaction ORDER BY key')
      .all()
      .map(({ key, record: column }) => [key, Buffer.from(column as Uint8Array).toString('hex')])
  const last = [7, Buffer.from(record).toString('hex')]
  assert.deepEqual(stored(), [[0, '07'], [3, '04'], [4, '03'], last])
  writer.prune(0, 4)
  assert.deepEqual(stored(), [[4, '03'], last])
  assert.deepEqual(verifyLog(file).problems, [])
  writer.database.exec('DELETE FROM redaction WHERE key = 7')
  assert.match(verifyLog(file).problems.join(), /a redaction record is in the wrong place/)
})

test('a redaction that could not be scrubbed is scrubbed by the next one, also if that removes nothing', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const writer = open(file)
  t.after(() => writer.close())
  append(writer, ['mark', 'other'])
  const pinned = new DatabaseSync(file, { readOnly: true })
  t.after(() => pinned.close())
  pinned.exec('BEGIN; SELECT * FROM tail')
  writer.database.exec('PRAGMA busy_timeout = 0')
  assert.throws(() => writer.redact(0, [0]), { code: 'ERR_STORAGE' })
  const includes = () =>
    [file, `${file}-wal`].some((part) => existsSync(part) && readFileSync(part, 'latin1').includes('mark'))
  assert.ok(includes())
  pinned.exec('COMMIT')
  writer.redact(0, [0])
  assert.ok(!includes())
})
