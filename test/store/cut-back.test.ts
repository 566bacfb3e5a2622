import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'
import { DamagedData, LogCursor, verifyLog } from '../../src/store/sqlite/index.ts'
import { rowKey } from '../../src/store/sqlite/rows/row-key.ts'
import { type StreamRow, streamCrc } from '../../src/store/sqlite/rows/stream-row.ts'
import * as fc from '../support/property.ts'
import { ForgedStream } from './acceptance/sources.ts'
import { memoryFolder } from './damage/folder.ts'
import {
  buildForeignStore,
  type Contents,
  contentsOf,
  deleteRow,
  type ForeignStore,
  foreign,
  rowsOfStream,
  withStore,
} from './damage/foreign-store.ts'
import { type ColumnBit, columnBits, writeFlipped, writeSound } from './damage/rows.ts'
import { openWriter, otherKey } from './damage/small-store.ts'

interface Prepared extends ForeignStore {
  readonly sound: Buffer
  readonly expected: Contents
  /** A copy to be damaged. */
  readonly damaged: string
}

function prepare(t: TestContext, options?: { pruned: boolean }): Prepared {
  const store = buildForeignStore(memoryFolder(t), options)
  const expected = withStore(store.file, contentsOf)
  assert.deepEqual([expected.damage, expected.count], [[], 45])
  return { ...store, sound: readFileSync(store.file), expected, damaged: `${store.file}.damaged` }
}

/** Opens a damaged store, checks what is left, receives the rest again, and compares it with the intact store. */
function checkRepair({ damaged, chunks, redaction, prune, checkpoint, expected }: Prepared, where: string): boolean {
  const found = withStore(damaged, (writer, reader) => {
    const found = contentsOf(writer, reader)
    assert.equal(found.own, expected.own, `own streams are complete: ${where}`)
    assert.ok(expected.foreign.startsWith(found.foreign), `the stream is a prefix: ${where}`)
    if (found.damage.length === 0) assert.equal(found.foreign, expected.foreign, where)
    if (found.count < 45) {
      assert.ok(found.count % 8 === 0, `the stream ends at a checkpoint, not at ${found.count}: ${where}`)
      assert.match(found.damage.join('\n'), /was cut back|was removed/, where)
    }
    return found
  })
  // The start does not read all rows; `verify` does.
  if (found.damage.length === 0) return false
  assert.deepEqual(verifyLog(damaged).problems, [], where)
  withStore(damaged, (writer, reader) => {
    assert.deepEqual(writer.damage, [], `damage is reported once: ${where}`)
    writer.applyRedactions([redaction])
    writer.applyPrune(prune, checkpoint)
    for (const chunk of chunks.slice(1)) writer.receive(chunk)
    writer.sealAll()
    while (writer.upkeep.reindexNext());
    const { own, foreign: restored, count } = contentsOf(writer, reader)
    assert.deepEqual([own, restored, count], [expected.own, expected.foreign, 45], where)
  })
  assert.deepEqual(verifyLog(damaged).problems, [], where)
  return true
}

/** Damage that the start does not look for is reported by what reads it, and by `verify`. */
function isFoundByStart(error: unknown): boolean {
  return !(error instanceof DamagedData)
}

test('a store with a missing row of a stream of another node opens, and the stream is restored', (t) => {
  const store = prepare(t)
  const cut: string[] = []
  for (const place of rowsOfStream(store.file, foreign)) {
    writeSound(store.damaged, store.sound)
    deleteRow(store.damaged, place)
    const where = `${place.table} ${place.offset}`
    try {
      if (checkRepair(store, where)) cut.push(place.table)
    } catch (error) {
      if (isFoundByStart(error)) throw error
    }
  }
  assert.deepEqual([...new Set(cut)].sort(), ['checkpoint', 'segment', 'stream', 'tail'])
})

test('a store with a flipped bit in a stream of another node opens, and the stream is restored', (t) => {
  const store = prepare(t)
  const rows = rowsOfStream(store.file, foreign).filter(({ table }) => table !== 'range')
  const bits = columnBits(store.file).filter(({ table, key }) =>
    rows.some((row) => row.table === table && String(row.key) === String(key[1])),
  )
  const cut = new Map<string, number>()
  fc.assert(
    fc.property(fc.constantFrom(...columnsOf(bits)), fc.nat(), (column, pick) => {
      const of = bits.filter((bit) => `${bit.table}.${bit.column}` === column)
      const bit = of[pick % of.length] as ColumnBit
      fc.pre(writeFlipped(store.damaged, store.sound, bit))
      const where = `bit ${bit.bit} of ${column} in row ${String(bit.key[1])}`
      try {
        if (checkRepair(store, where)) cut.set(column, (cut.get(column) ?? 0) + 1)
      } catch (error) {
        if (isFoundByStart(error)) throw error
      }
    }),
    { numRuns: 150 },
  )
  assert.ok(cut.size > 5, `cut back: ${[...cut.keys()].join(', ')}`)
})

test('a flipped bit in the length or the checksum of a part of a segment is damage', (t) => {
  const store = prepare(t)
  const first = columnBits(store.file).filter(({ table, column }) => table === 'segment' && column === 'block0')
  // The length and the checksum take at least six bytes. All parts of segments are read by the same code.
  const bits = first.filter(({ bit, key }) => bit < 8 * 6 && key[1] === first[0]?.key[1])
  assert.equal(bits.length, 48)
  for (const bit of bits) {
    assert.ok(writeFlipped(store.damaged, store.sound, bit))
    assert.throws(() => withStore(store.damaged, contentsOf), DamagedData, `bit ${bit.bit}`)
  }
})

function columnsOf(bits: readonly ColumnBit[]): string[] {
  return [...new Set(bits.map(({ table, column }) => `${table}.${column}`))]
}

test('a store with a damaged row of an own stream is refused as before, and not changed', (t) => {
  const store = prepare(t)
  const ofOwn: [string, string][] = [
    ['stream', 'number = 0'],
    ['tail', `key = (SELECT max(key) FROM tail WHERE key < ${rowKey(1, 0)})`],
  ]
  for (const [table, where] of ofOwn) {
    writeSound(store.damaged, store.sound)
    const database = new DatabaseSync(store.damaged)
    // Damage of the other node's stream at the same time does not change that.
    database.exec(`UPDATE ${table} SET crc = crc + 1 WHERE ${where}; UPDATE stream SET crc = crc + 1 WHERE number = 1`)
    database.close()
    const before = readFileSync(store.damaged)
    assert.throws(() => withStore(store.damaged, contentsOf), isRefusal, table)
    assert.ok(readFileSync(store.damaged).equals(before), `${table}: nothing was changed`)
  }
})

test('the last row of an own stream is not deleted where its damaged key puts it', (t) => {
  const store = prepare(t)
  for (const target of [rowKey(foreign, 45), rowKey(foreign, 1000), rowKey(9, 5), rowKey(foreign, 12) + 1]) {
    writeSound(store.damaged, store.sound)
    const database = new DatabaseSync(store.damaged)
    database
      .prepare('UPDATE tail SET key = ? WHERE key = (SELECT max(key) FROM tail WHERE key < ?)')
      .run(target, rowKey(1, 0))
    database.close()
    assert.throws(() => withStore(store.damaged, contentsOf), isRefusal, String(target))
  }
})

test('a row of another node that a damaged key puts into an own stream is removed', (t) => {
  const store = prepare(t)
  for (const target of [rowKey(0, 500), rowKey(0, 22), rowKey(2, 3), rowKey(77, 1)]) {
    writeSound(store.damaged, store.sound)
    const database = new DatabaseSync(store.damaged)
    database
      .prepare('UPDATE tail SET key = ? WHERE key = (SELECT max(key) FROM tail WHERE key < ?)')
      .run(target, rowKey(foreign + 1, 0))
    database.close()
    assert.ok(checkRepair(store, String(target)))
  }
})

test('a slot whose key is lost is emptied, and reused when the stream comes again', (t) => {
  const store = prepare(t, { pruned: false })
  writeSound(store.damaged, store.sound)
  const database = new DatabaseSync(store.damaged)
  // Neither the entry nor a checkpoint says whose stream it is.
  database.exec(`
    UPDATE stream SET node = zeroblob(32), head = NULL WHERE number = ${foreign};
    DELETE FROM segment WHERE key >= ${rowKey(foreign, 0)} AND key < ${rowKey(foreign + 1, 0)};
    DELETE FROM tail WHERE key >= ${rowKey(foreign, 0)} AND key < ${rowKey(foreign + 1, 0)};
    DELETE FROM checkpoint WHERE key >= ${rowKey(foreign, 0)} AND key < ${rowKey(foreign + 1, 0)}`)
  database.close()
  withStore(store.damaged, (writer, reader) => {
    assert.match(writer.damage[0]?.text ?? '', /could not be restored/)
    for (const chunk of store.chunks) writer.receive(chunk)
    const streams = reader.status().map(({ number, own, count }) => [number, own, count])
    assert.deepEqual(streams, [
      [0, true, 22],
      [foreign, false, 45],
      [2, true, 3],
    ])
    assert.equal(contentsOf(writer, reader).own, store.expected.own)
  })
  assert.deepEqual(verifyLog(store.damaged).problems, [])
})

test('a lost entry of an own stream is not taken for one of another node', (t) => {
  const store = prepare(t)
  // The own stream in slot 2 has no checkpoint, so that nothing but its chain tells whose it is.
  for (const damage of [
    'DELETE FROM stream WHERE number = 2',
    'UPDATE stream SET node = zeroblob(32) WHERE number = 2',
    'UPDATE stream SET nr = 300 WHERE number = 2',
    'UPDATE stream SET node = zeroblob(0) WHERE number = 2',
  ]) {
    writeSound(store.damaged, store.sound)
    const database = new DatabaseSync(store.damaged)
    database.exec(damage)
    database.close()
    assert.throws(() => withStore(store.damaged, contentsOf), isRefusal, damage)
  }
})

test('a stream of another node whose entry is lost is removed if nothing else tells its key', (t) => {
  const store = prepare(t)
  writeSound(store.damaged, store.sound)
  const chunk = new ForgedStream(KeyPair.generate(systemRandom), 't').chunk([{ lamport: 1 }, { lamport: 2 }])
  withStore(store.damaged, (writer) => writer.receive(chunk))
  const database = new DatabaseSync(store.damaged)
  database.exec('DELETE FROM stream WHERE number = 3')
  database.close()
  withStore(store.damaged, (writer, reader) => {
    assert.match(writer.damage.map(({ text }) => text).join(), /could not be restored/)
    assert.equal(contentsOf(writer, reader).own, store.expected.own)
    assert.deepEqual(writer.receive(chunk), { state: 'stored', count: 2 })
  })
  assert.deepEqual(verifyLog(store.damaged).problems, [])
})

test('a store that was written with another key is refused and not changed, damaged or not', (t) => {
  const store = prepare(t)
  const otherKeys = [otherKey, KeyPair.generate(systemRandom)]
  for (const damage of ['', 'UPDATE stream SET crc = crc + 1 WHERE number = 1', 'UPDATE stream SET crc = crc + 1']) {
    writeSound(store.damaged, store.sound)
    const database = new DatabaseSync(store.damaged)
    database.exec(damage)
    database.close()
    const before = readFileSync(store.damaged)
    for (const key of otherKeys) assert.throws(() => openWriter(store.damaged, key).close(), isRefusal, damage)
    assert.ok(readFileSync(store.damaged).equals(before), `${damage}: nothing was changed`)
  }
})

test('a stream that was written with an earlier key is not cut back', (t) => {
  const store = prepare(t)
  writeSound(store.damaged, store.sound)
  const key = KeyPair.generate(systemRandom)
  // Streams of both keys are in the log, as after a changed key in an earlier version.
  const database = new DatabaseSync(store.damaged)
  const { record, head, ...row } = database
    .prepare('SELECT * FROM stream WHERE number = 2')
    .get() as unknown as StreamRow
  const node = key.publicKey
  database
    .prepare('UPDATE stream SET node = ?, crc = ? WHERE number = 2')
    .run(node, streamCrc({ ...row, node, record, head }))
  database.exec('UPDATE stream SET crc = crc + 1 WHERE number = 1')
  database.close()
  const writer = openWriter(store.damaged)
  t.after(() => writer.close())
  assert.match(writer.damage.map(({ text }) => text).join(), /was cut back/)
  assert.deepEqual([writer.counts.count(0), writer.counts.count(2)], [22, 3])
})

test('a damaged redaction of another node is removed, and applies again when it is received', (t) => {
  const store = prepare(t)
  writeSound(store.damaged, store.sound)
  const database = new DatabaseSync(store.damaged)
  database.exec('UPDATE redaction SET crc = crc + 1')
  database.close()
  withStore(store.damaged, (writer, reader) => {
    assert.match(writer.damage[0]?.text ?? '', /^3 redactions of other nodes/)
    assert.equal(contentsOf(writer, reader).foreign, store.expected.foreign)
    assert.deepEqual(writer.applyRedactions([store.redaction]), [{ state: 'applied' }])
  })
  assert.deepEqual(verifyLog(store.damaged).problems, [])
})

test('redactions of another node whose record is damaged are removed with it', (t) => {
  const store = prepare(t)
  for (const key of [rowKey(foreign, 14), rowKey(foreign, 13)]) {
    writeSound(store.damaged, store.sound)
    const database = new DatabaseSync(store.damaged)
    database.prepare('UPDATE redaction SET crc = crc + 1 WHERE key = ?').run(key)
    database.close()
    withStore(store.damaged, (writer, reader) => {
      const isRecord = key === rowKey(foreign, 14)
      assert.match(writer.damage[0]?.text ?? '', isRecord ? /^3 redactions/ : /^1 redactions/)
      assert.deepEqual(writer.records(foreign).redactions.length, isRecord ? 0 : 1)
      assert.equal(contentsOf(writer, reader).foreign, store.expected.foreign)
      assert.deepEqual(writer.applyRedactions([store.redaction]), [{ state: 'applied' }])
      assert.deepEqual(writer.applyRedactions([store.redaction]), [{ state: 'known' }])
    })
    assert.deepEqual(verifyLog(store.damaged).problems, [])
  }
})

test('a damaged redaction of an own stream is not removed, wherever its key puts it', (t) => {
  const store = prepare(t)
  withStore(store.file, (writer) => writer.redact(0, [2, 3, 5]))
  const sound = readFileSync(store.file)
  for (const offset of [2, 3, 5])
    for (const target of [rowKey(foreign, offset), rowKey(foreign, 40), rowKey(foreign, 14) - 2, rowKey(9, offset)]) {
      writeSound(store.damaged, sound)
      const database = new DatabaseSync(store.damaged)
      database.prepare('UPDATE redaction SET key = ? WHERE key = ?').run(target, rowKey(0, offset))
      database.close()
      assert.throws(() => withStore(store.damaged, contentsOf), isRefusal, `${offset} at ${target}`)
    }
})

test('the count file follows a stream that was cut back', (t) => {
  const store = prepare(t)
  const database = new DatabaseSync(store.file)
  database.exec(`DELETE FROM tail WHERE key = (SELECT max(key) FROM tail WHERE key < ${rowKey(foreign + 1, 0)})`)
  database.close()
  withStore(store.file, (writer) => {
    assert.equal(writer.damage.length, 1, writer.damage.map(({ text }) => text).join('\n'))
    assert.match(writer.damage[0]?.text ?? '', /from 45 to 40 events/)
  })
  withStore(store.file, (writer) => assert.deepEqual(writer.damage, []))
})

test('a subscription that has read beyond the cut continues where it was', (t) => {
  const store = prepare(t)
  writeSound(store.damaged, store.sound)
  const database = new DatabaseSync(store.damaged)
  database.exec(`DELETE FROM tail WHERE key = (SELECT max(key) FROM tail WHERE key < ${rowKey(foreign + 1, 0)})`)
  database.close()
  withStore(store.damaged, (writer, reader) => {
    assert.equal(contentsOf(writer, reader).count, 40)
    // The last event that was read before the cut.
    const lower = new Map([[foreign, 42]])
    const selection = { anyOf: [{ tags: [], own: false }], order: 'asc', lower } as const
    const offsets = (cursor: LogCursor): number[] => {
      const lines = new NdjsonWriter(1 << 16)
      assert.ok(cursor.run(lines))
      return (lines.written.toString().match(/.*\n/g) ?? []).map(
        (line) => (JSON.parse(line) as { offset: number }).offset,
      )
    }
    const live = new LogCursor(reader, selection, { live: reader.snapshot() })
    assert.deepEqual(offsets(live), [])
    assert.deepEqual(offsets(new LogCursor(reader, { ...selection, order: 'desc' })), [])
    writer.receive(store.chunks.at(-1) as Uint8Array)
    live.extend(reader.snapshot())
    assert.deepEqual(offsets(live), [43, 44])
    assert.deepEqual(offsets(new LogCursor(reader, selection)), [43, 44])
  })
})

function isRefusal(error: unknown): boolean {
  return error instanceof DamagedData || (error instanceof ShoalError && error.code === 'ERR_INVALID_NODE_STATE')
}
