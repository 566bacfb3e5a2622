import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { verifyLog } from '../../src/store/sqlite/index.ts'
import { until } from '../support/process.ts'
import { testSeed } from '../support/seed.ts'
import { type Flipped, runFlips } from './damage/flip-processes.ts'
import { memoryFolder } from './damage/folder.ts'
import { closeLog, linesOf, openLog } from './damage/queries.ts'
import { columnBits, writeFlipped } from './damage/rows.ts'
import { buildSmallStore, ownKey } from './damage/small-store.ts'

/** A flip takes milliseconds: by default every nth bit is flipped, from a random start. SHOAL_FLIPS=all flips all. */
const everything = process.env['SHOAL_FLIPS'] === 'all'
const steps = everything
  ? { rows: 1, file: 1, index: 1, spelling: 1 }
  : { rows: 139, file: 1999, index: 41, spelling: 1 }

async function flipAll(t: TestContext, where: 'rows' | 'file' | 'spelling'): Promise<Map<string, number>> {
  const folder = memoryFolder(t)
  const processes = Math.min(4, availableParallelism())
  const start = testSeed(t) % steps[where]
  const shares = Array.from({ length: processes }, (_, i) => start + i * steps[where])
  const counts = new Map<string, number>()
  const wrong: Flipped[] = []
  await runFlips(
    new URL('./damage/flip-small.ts', import.meta.url),
    shares.map((share) => [folder, where, String(share), String(processes * steps[where])]),
    (flipped) => {
      const group = `${flipped.place}: ${flipped.outcome}`
      counts.set(group, (counts.get(group) ?? 0) + 1)
      if (flipped.outcome === 'wrong') wrong.push(flipped)
    },
  )
  t.diagnostic([...counts].map(([group, count]) => `${group} ${count}`).join(', '))
  assert.deepEqual(wrong.slice(0, 10), [])
  return counts
}

test('a flipped bit of a row is detected or harmless; of the index it is always harmless', {
  timeout: 3_600_000,
}, async (t) => {
  const counts = await flipAll(t, 'rows')
  assert.ok(
    [...counts.keys()].some((group) => group.endsWith(': cut')),
    'some damage is in the stream of another node',
  )
  const outcomesOfIndex = [...counts.keys()].filter((group) => /^(range|posting|times)\./.test(group))
  assert.deepEqual(
    outcomesOfIndex.filter((group) => !group.endsWith(': harmless')),
    [],
    'without an index, events are found by a full scan',
  )
})

test('a flipped bit of the file is detected or harmless', { timeout: 36_000_000 }, async (t) => {
  await flipAll(t, 'file')
})

test('names of the index tables in another case are harmless', { timeout: 3_600_000 }, async (t) => {
  const counts = await flipAll(t, 'spelling')
  assert.deepEqual([...counts.keys()], ['spelling: harmless'])
  assert.ok((counts.get('spelling: harmless') ?? 0) > 100)
})

test('a damaged index is rebuilt', (t) => {
  const store = buildSmallStore(memoryFolder(t))
  const sound = readFileSync(store.file)
  const damaged = `${store.file}.damaged`
  const bits = columnBits(store.file).filter(({ table }) => ['range', 'posting', 'times'].includes(table))
  const start = testSeed(t) % steps.index
  for (let i = start; i < bits.length; i += steps.index) {
    const bit = bits[i] as (typeof bits)[number]
    if (!writeFlipped(damaged, sound, bit)) continue
    const where = `${bit.table}.${bit.column}, bit ${bit.bit}`
    repairIndex(damaged, where)
    assert.deepEqual(verifyLog(damaged).problems, [], where)
  }
})

/** Repairs the index like the threads of a store: a query finds the damage, the range is dropped and indexed again. */
function repairIndex(file: string, where: string): void {
  const log = openLog(file)
  try {
    const { writer, reader } = log
    reader.index.onDamaged = (stream, offset) => writer.dropIndexAt(stream, offset)
    const times = { from: 0, to: Number.POSITIVE_INFINITY }
    const ask = (): string => linesOf(reader, { anyOf: [{ tags: ['id:11'] }], order: 'asc', times }).bytes.toString()
    const before = ask()
    assert.match(before, /"tags":\["all","id:11"\]/, where)
    let pieces = 0
    while (writer.upkeep.reindexNext()) assert.ok(++pieces < 10, `reindexing terminates: ${where}`)
    // Times with another ID are missing: they are added by what seals events.
    if (where.startsWith('times.id')) writer.sealAll()
    else assert.ok(pieces > 0, `a range was indexed again: ${where}`)
    assert.equal(ask(), before, where)
    assert.ok(
      reader.index.ranges(0).some(({ first, count }) => first <= 11 && first + count > 11),
      `the event is indexed again: ${where}`,
    )
  } finally {
    closeLog(log)
  }
}

test('a running store rebuilds its damaged index', async (t) => {
  const { file } = buildSmallStore(memoryFolder(t))
  const database = new DatabaseSync(file)
  database.exec('UPDATE posting SET body = zeroblob(length(body))')
  database.close()
  assert.notDeepEqual(verifyLog(file).problems, [])
  const store = await SqliteEventStore.open({ runtime: systemRuntime, file, topic: 't', kind: 'live', key: ownKey })
  t.after(() => store.close())
  const ask = async (): Promise<string> => {
    let text = ''
    for await (const piece of store.read({ anyOf: [{ tags: ['id:11'] }], order: 'asc' })) text += piece.toString()
    return text
  }
  const answer = await ask()
  assert.match(answer, /"tags":\["all","id:11"\]/)
  await until(
    () => (verifyLog(file).problems.length === 0 ? true : undefined),
    () => `the index is still damaged: ${verifyLog(file).problems.join(', ')}`,
  )
  assert.equal(await ask(), answer)
})
