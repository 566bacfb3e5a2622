import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'
import type { Branch, Order } from '../../src/store/port/index.ts'
import { buildSeal, LogCursor, type LogReader, LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { soundRanges } from '../../src/store/sqlite/tag-index/index-ranges.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openLog } from '../support/log.ts'

interface Line {
  lamport: number
  stream: string
  offset: number
  timestamp: number
  tags: string[]
  appId: string
  payload: unknown
}

function open(t: TestContext): ReturnType<typeof openLog> {
  let time = 1_700_000_000_000_000
  return openLog(t, () => time++)
}

function lines(reader: LogReader, anyOf: Branch[] = [{ tags: [] }], order: Order = 'asc'): Line[] {
  const sink = new NdjsonWriter(1024)
  const cursor = new LogCursor(reader, { anyOf, order })
  let text = ''
  for (let done = false; !done; ) {
    done = cursor.run(sink)
    text += sink.written.toString()
    sink.clear()
  }
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
}

function request(count: number, from: number, stream = 0): Parameters<LogWriter['append']>[0][number] {
  const events = Array.from({ length: count }, (_, i) => ({
    appId: 'com.example.a',
    tags: ['all', `m:${(from + i) % 7}`, `id:${from + i}`],
    payload: JSON.stringify({ i: from + i }),
  }))
  return { ...packed(events), streams: new Uint32Array(count).fill(stream) }
}

test('appended events are read from the tail and from segments, in both directions', (t) => {
  const { writer, reader } = open(t)
  let n = 0
  for (const count of [1, 1, 5, 1000, 2500, 1, 300]) {
    const [appended] = writer.append([request(count, n)])
    assert.deepEqual(appended?.runs, [{ stream: 0, offset: n, count }])
    assert.equal(appended?.lamport, n)
    n += count
  }
  const expected = Array.from({ length: n }, (_, i) => i)
  for (const seal of [false, true]) {
    if (seal) writer.sealAll()
    assert.deepEqual(
      lines(reader).map(({ offset }) => offset),
      expected,
    )
    assert.deepEqual(
      lines(reader).map(({ payload }) => (payload as { i: number }).i),
      expected,
    )
    assert.deepEqual(
      lines(reader, undefined, 'desc').map(({ offset }) => offset),
      expected.toReversed(),
    )
    assert.deepEqual(
      lines(reader, [{ tags: ['m:3'] }]).map(({ offset }) => offset),
      expected.filter((i) => i % 7 === 3),
    )
    assert.deepEqual(
      lines(reader, [{ tags: ['m:3', 'id:10'] }, { tags: ['id:2000'] }]).map(({ offset }) => offset),
      [10, 2000],
    )
    assert.deepEqual(
      lines(reader, [{ tags: ['m:3'] }], 'desc').map(({ offset }) => offset),
      expected.filter((i) => i % 7 === 3).toReversed(),
    )
    assert.deepEqual(lines(reader, [{ tags: [], appId: 'other' }]), [])
    assert.deepEqual(lines(reader, [{ tags: [], own: false }]), [])
  }
})

test('a log with pruned and redacted events verifies', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const key = KeyPair.generate(systemRandom)
  const writer = new LogWriter({
    file,
    topic: 't',
    kind: 'live',
    key,
    now: () => 1_700_000_000_000_000,
    random: systemRandom,
  })
  t.after(() => writer.close())
  for (let i = 0; i < 5; i++) writer.append([request(1500, i * 1500), request(10, 0, 3)])
  writer.redact(0, [17])
  writer.sealAll()
  writer.redact(0, [4000])
  writer.append([request(3, 0)])
  // A checkpoint is at the end of the frame that fills the chunk.
  writer.prune(0, 2140)
  const report = verifyLog(file)
  assert.deepEqual(report.problems, [])
  assert.deepEqual([report.streams, report.events, report.removedPayloads], [2, 7503 - 2140 + 50, 1])
})

test('old index ranges are merged without changing query results', (t) => {
  const { writer, reader } = open(t)
  const total = 70_000
  for (let i = 0; i < total; i += 1000) {
    writer.append([request(1000, i)])
    // Like a busy node: seals as soon as there is a chunk.
    const plan = writer.upkeep.planSeal()
    if (plan !== undefined) writer.upkeep.applySeal(buildSeal(writer.database, plan))
  }
  const before = reader.index.ranges(0).length
  const answers = () =>
    ['m:3', 'id:69000', 'id:17', 'nothing'].map((tag) => lines(reader, [{ tags: [tag] }]).map(({ offset }) => offset))
  const expected = answers()
  writer.sealAll()
  assert.deepEqual(answers(), expected)
  const after = reader.index.ranges(0).length
  assert.ok(after <= before / 4, `${before} ranges were merged into ${after}`)
})

test('index ranges are merged as soon as there are enough, also after earlier attempts', (t) => {
  const { writer } = open(t)
  let n = 0
  for (const expected of [...Array.from({ length: tuning.rangesPerMerge - 1 }, (_, i) => i + 1), 1, 2]) {
    writer.append([request(format.eventsPerCheckpoint, n)])
    n += format.eventsPerCheckpoint
    writer.sealAll()
    assert.equal(soundRanges(writer.database, 0).length, expected)
  }
})

test('any event can be redacted before and after it is sealed, and the others do not change', (t) => {
  const { writer, reader } = open(t)
  writer.append([request(1200, 0)])
  const gone = new Set<number>()
  for (const [i, offset] of [0, 127, 128, 1199, 500, 1, 256].entries()) {
    writer.redact(0, [offset])
    gone.add(offset)
    if (i === 2) writer.sealAll()
    const left = lines(reader)
    assert.deepEqual(
      left.map(({ offset: at }) => at),
      Array.from({ length: 1200 }, (_, at) => at).filter((at) => !gone.has(at)),
    )
    for (const { offset: at, payload } of left) assert.deepEqual(payload, { i: at })
  }
})

test('lines of a selection that matches most events omit the events that do not match or are redacted', (t) => {
  const { writer, reader } = open(t)
  const tags = (i: number) => (i % 50 === 7 || i === 300 ? ['few'] : ['most'])
  const events = Array.from({ length: 1500 }, (_, i) => ({ appId: 'a', tags: tags(i), payload: String(i) }))
  writer.append([{ ...packed(events), streams: new Uint32Array(events.length) }])
  // Adjacent ones, next to one that does not match, and at both ends of a block.
  const gone = new Set([20, 21, 58, 107, 127, 128, 299, 301, 1100])
  for (const offset of gone) writer.redact(0, [offset])
  const of = (tag: string) => lines(reader, [{ tags: [tag] }]).map(({ payload }) => payload)
  const expected = (tag: string) => events.flatMap((_, i) => (tags(i)[0] === tag && !gone.has(i) ? [i] : []))
  for (const sealed of [false, true]) {
    if (sealed) writer.sealAll()
    for (const tag of ['most', 'few']) assert.deepEqual(of(tag), expected(tag))
  }
})

test('a new receiver of a pruned stream starts at its checkpoint', (t) => {
  const { writer, reader } = open(t)
  for (let i = 0; i < 4; i++) writer.append([request(1024, i * 1024)])
  const record = writer.prune(0, 2048)
  const [checkpoint] = reader.checkpoints(0)
  assert.equal(checkpoint?.count, 2048)
  const other = open(t)
  assert.throws(() => other.writer.applyPrune(record), { code: 'ERR_INVALID_INPUT' })
  other.writer.applyPrune(record, checkpoint?.head)
  for (const from of [2048, 3072]) {
    const chunk = reader.chunk(0, from, writer.head(0))
    assert.equal(other.writer.receive(chunk ?? new Uint8Array()).state, 'stored')
  }
  assert.deepEqual(
    lines(other.reader).map(({ offset }) => offset),
    lines(reader).map(({ offset }) => offset),
  )
  assert.deepEqual(lines(other.reader)[0]?.offset, 2048)
  other.writer.append([request(1, 0)])
  assert.equal(lines(other.reader).at(-1)?.lamport, 4096)
})

test('an NDJSON writer grows for a large line, and shrinks again', () => {
  const writer = new NdjsonWriter(64 * 1024)
  const room = () => writer.written.buffer.byteLength
  writer.line('small')
  assert.ok(room() < 16 * 1024)
  const long = 'x'.repeat(1_000_000)
  writer.line(long)
  writer.line('after it')
  assert.equal(writer.written.toString(), `small\n${long}\nafter it\n`)
  writer.clear()
  for (let i = 0; !writer.isFull; i++) writer.line(`line ${i}`)
  assert.equal(room(), 64 * 1024)
})

test('the buffer of written lines can be transferred to another thread', () => {
  const writer = new NdjsonWriter(8 * 1024)
  for (const text of ['one', 'two']) {
    while (!writer.isFull) writer.line(text)
    const expected = writer.written.toString()
    const { buffer, byteLength } = writer.written
    const taken = structuredClone(writer.written, { transfer: [buffer] })
    writer.clear()
    assert.equal(Buffer.from(taken).toString(), expected)
    assert.equal(taken.byteLength, byteLength)
    writer.bytes(Buffer.alloc(0))
    assert.equal(writer.written.length, 0)
  }
  writer.line('three')
  assert.equal(writer.written.toString(), 'three\n')
})

test('missing checkpoints at the end of a stream are detected', (t) => {
  const { writer, reader } = open(t)
  for (let i = 0; i < 4; i++) writer.append([request(1024, i * 1024)])
  assert.deepEqual(
    reader.checkpoints(0).map(({ count }) => count),
    [1024, 2048, 3072, 4096],
  )
  const head = writer.head(0)
  writer.database.exec('DELETE FROM checkpoint WHERE key > 2048')
  assert.throws(() => reader.checkpoints(0), { name: 'DamagedData', message: /end at 2048, not at 4096/ })
  assert.ok(reader.chunk(0, 1024, head))
  assert.throws(() => reader.chunk(0, 2048, head), { name: 'DamagedData' })
  assert.equal(writer.upkeep.planSeal(), undefined, 'chunks without checkpoints are not sealed')
})

test('sealing continues after damaged chunks are pruned', (t) => {
  const { writer } = open(t)
  for (let i = 0; i < 6; i++) writer.append([request(1024, i * 1024)])
  const plan = writer.upkeep.planSeal()
  assert.deepEqual(plan?.ends, [1024, 2048, 3072, 4096, 5120, 6144])
  writer.database.exec('UPDATE checkpoint SET crc = crc + 1 WHERE key = 2048')
  assert.equal(writer.upkeep.planSeal(), undefined)
  writer.prune(0, 3072)
  assert.deepEqual(writer.upkeep.planSeal()?.ends, [4096, 5120, 6144])
})

test('a seal is planned when enough chunks are waiting, with a limited number of chunks', (t) => {
  const { writer } = open(t)
  const perSeal = tuning.chunksPerSeal
  const enough = perSeal + 8
  for (let i = 0; i < enough - 1; i++) writer.append([request(1024, i * 1024)])
  assert.equal(writer.upkeep.planSeal(enough), undefined)
  assert.equal(writer.upkeep.planSeal(perSeal)?.ends.length, perSeal)
  writer.append([request(1024, (enough - 1) * 1024)])
  const plan = writer.upkeep.planSeal(enough)
  assert.equal(plan?.ends.length, perSeal)
  writer.upkeep.applySeal(buildSeal(writer.database, plan))
  assert.equal(writer.upkeep.planSeal(perSeal), undefined, 'the rest waits for more chunks, or for an idle store')
  assert.equal(writer.upkeep.planSeal()?.ends.length, enough - perSeal)
})

test('the sealing backlog counts chunks, also when events are large', (t) => {
  const { writer } = open(t)
  const event = { appId: 'com.example.a', tags: [], payload: JSON.stringify('x'.repeat(1_100_000)) }
  const large = { ...packed([event]), streams: new Uint32Array(1) }
  for (let i = 0; i < tuning.maxUnsealedChunks; i++) writer.append([large])
  assert.equal(writer.upkeep.isSealBacklogFull, false)
  writer.append([large])
  assert.equal(writer.upkeep.isSealBacklogFull, true)
  const plan = writer.upkeep.planSeal()
  assert.ok(plan)
  writer.upkeep.applySeal(buildSeal(writer.database, plan))
  assert.equal(writer.upkeep.isSealBacklogFull, false)
})
