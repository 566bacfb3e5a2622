import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { genesis, type Hash, hashAfter, heads } from '../../src/protocol/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { type ChainPoint, framesOf, recordsOf, type TailRow, tailRow } from '../../src/store/sqlite/rows/tail-row.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

const key = new KeyPair(Buffer.alloc(32, 5))

function open(file: string): LogWriter {
  return new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 1, random: systemRandom })
}

function append(writer: LogWriter, { count, length, stream, other = stream }: Append): void {
  const events = Array.from({ length: count }, (_, i) => ({
    appId: 'a',
    tags: [],
    payload: `"${i}${'x'.repeat(length)}"`,
  }))
  writer.append([{ ...packed(events), streams: Uint32Array.from(events, (_, i) => (i % 2 === 0 ? stream : other)) }])
}

function rowsOf(database: DatabaseSync, stream: number): TailRow[] {
  const [from, to] = [stream * 2 ** 40, (stream + 1) * 2 ** 40]
  return database
    .prepare('SELECT * FROM tail WHERE key >= ? AND key < ? ORDER BY key')
    .all(from, to) as unknown as TailRow[]
}

/** The chain hash after some rows of a stream, computed from the stored frames. */
function hashAfterRows(rows: readonly TailRow[], number: number): Hash {
  const frames = rows.flatMap((row) => framesOf(row))
  return frames.reduce((hash, frame) => hashAfter(frame, hash), genesis('t', { node: key.publicKey, number }))
}

/** Replaces the chain hash of a row, with a valid checksum. */
function replace(database: DatabaseSync, row: TailRow, point: ChainPoint): void {
  const { crc, hash } = tailRow(row.key, row.count, row.lamport, point, recordsOf(row))
  database.prepare('UPDATE tail SET crc = ?, hash = ? WHERE key = ?').run(crc, hash, row.key)
}

interface Append {
  readonly count: number
  readonly length: number
  readonly stream: number
  /** Events of one commit alternate between this stream and the other one. */
  readonly other?: number
}

type Step = 'link' | 'ask' | 'reopen' | 'redact' | Append

// The code path of hashing depends on number and length of the events, and all share one buffer.
const appends: fc.Arbitrary<Step> = fc.record({
  count: fc.constantFrom(1, 7, 8, 129),
  length: fc.constantFrom(1, 250, 700),
  stream: fc.nat(2),
  other: fc.nat(2),
})
const largeEvent: Step = { count: 1, length: 20_000, stream: 1 }
const others = fc.constantFrom<Step>('link', 'ask', 'reopen', 'redact', largeEvent)
const steps = fc.array(fc.oneof({ weight: 2, arbitrary: appends }, others), { maxLength: 8 })

/** The numbers of the created streams, in order of creation. */
function streamsOf(list: readonly Step[]): number[] {
  const appends = list.filter((step) => typeof step === 'object')
  return [...new Set(appends.flatMap(({ count, stream, other = stream }) => (count > 1 ? [stream, other] : [stream])))]
}

/** Performs a step. Returns the writer to continue with. */
function walk(writer: LogWriter, file: string, step: Step, before: readonly Step[]): LogWriter {
  if (step === 'reopen') {
    writer.close()
    return open(file)
  }
  if (step === 'link') writer.link()
  else if (step === 'ask') for (const stream of streamsOf(before).keys()) writer.head(stream)
  else if (step === 'redact')
    for (const [stream, number] of streamsOf(before).entries()) writer.redact(number, [writer.counts.count(stream) - 1])
  else append(writer, step)
  return writer
}

test('the signed head covers everything that was stored, whenever its hashes are computed', (t) => {
  const folder = temporaryFolder(t)
  let run = 0
  fc.assert(
    fc.property(steps, (list) => {
      const file = join(folder, `${run++}.db`)
      let writer = open(file)
      for (const [i, step] of list.entries()) writer = walk(writer, file, step, list.slice(0, i))
      for (const [stream, number] of streamsOf(list).entries()) {
        const { hash } = heads.decode(writer.head(stream) as Uint8Array)
        assert.equal(hash, hashAfterRows(rowsOf(writer.database, stream), number))
      }
      writer.close()
      assert.deepEqual(verifyLog(file).problems, [])
    }),
    { numRuns: 60 },
  )
})

for (const is of ['before', 'after'] as const)
  test(`verify reports a row with a wrong chain hash ${is} it, and accepts the correct one`, (t) => {
    const file = join(temporaryFolder(t), 'log.db')
    const writer = open(file)
    for (let i = 0; i < 3; i++) append(writer, { count: 2, length: 1, stream: 0 })
    const { database } = writer
    const rows = rowsOf(database, 0)
    const [right, wrong] = is === 'before' ? [1, 2] : [2, 1]
    replace(database, rows[1] as TailRow, { is, hash: hashAfterRows(rows.slice(0, right), 0) })
    assert.deepEqual(verifyLog(file).problems, [])
    replace(database, rows[1] as TailRow, { is, hash: hashAfterRows(rows.slice(0, wrong), 0) })
    assert.deepEqual(verifyLog(file).problems, [`stream 0: the tail has another hash than its frames at ${2 * right}`])
    writer.close()
  })

test('a row without a chain hash, or with one of the wrong size, is damaged', (t) => {
  const folder = temporaryFolder(t)
  for (const [i, hash] of ['', 'x'.repeat(31), 'x'.repeat(33), 'x'.repeat(34)].entries()) {
    const file = join(folder, `${i}.db`)
    const writer = open(file)
    append(writer, { count: 1, length: 1, stream: 0 })
    replace(writer.database, rowsOf(writer.database, 0)[0] as TailRow, { is: 'after', hash: hash as Hash })
    writer.close()
    assert.throws(() => open(file), /the row 0 of the tail has no hash/, `${hash.length}`)
    assert.match(verifyLog(file).problems.join(), /the row 0 of the tail has no hash/)
  }
})
