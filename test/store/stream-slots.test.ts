import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogCursor, LogReader, LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ForgedStream } from './acceptance/sources.ts'

function opener(file: string): () => LogWriter {
  const key = KeyPair.generate(systemRandom)
  return () => new LogWriter({ file, topic: 'a-topic', kind: 'live', key, now: () => 1e15, random: systemRandom })
}

test('the budget of a peer survives a restart', (t) => {
  const open = opener(join(temporaryFolder(t), 'log.db'))
  const writer = open()
  for (let i = 0; i < limits.nodesPerPeer; i++)
    writer.receive(new ForgedStream().chunk([{ lamport: 1 }]), { from: 'a' })
  writer.close()
  const again = open()
  t.after(() => again.close())
  const chunk = new ForgedStream().chunk([{ lamport: 1 }])
  assert.deepEqual(again.receive(chunk, { from: 'a' }), { state: 'refused', count: 0, limit: 'nodesPerPeer' })
  assert.deepEqual(again.receive(chunk, { from: 'b' }), { state: 'stored', count: 1 })
})

function forged(lamport = 1): { key: KeyPair; chunk: Buffer } {
  const key = KeyPair.generate(systemRandom)
  return { key, chunk: new ForgedStream(key).chunk([{ lamport }]) }
}

function slotsIn(reader: LogReader): [number, number][] {
  return reader.status().map(({ number, count }) => [number, count])
}

test('the slot of a forgotten stream is reused after the next start, and not before', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const open = opener(file)
  const writer = open()
  const reader = new LogReader(file, writer.counts, KeyPair.generate(systemRandom).publicKey, systemClock)
  const streams = [forged(), forged(2), forged(3)] as const
  for (const { chunk } of streams) writer.receive(chunk)
  const snapshot = reader.snapshot()
  const forgotten = { node: streams[1].key.publicKey, number: 0 }
  assert.equal(reader.statusOf(forgotten)?.number, 1)
  assert.ok(writer.forgetStream(forgotten))
  assert.equal(reader.statusOf(forgotten), undefined)
  assert.equal(reader.snapshot().count(1), snapshot.count(1), 'a reader never sees fewer events')
  writer.receive(forged(4).chunk)
  assert.deepEqual(slotsIn(reader), [
    [0, 1],
    [2, 1],
    [3, 1],
  ])
  reader.close()
  writer.close()
  assert.deepEqual(verifyLog(file).problems, [])

  const again = open()
  const later = new LogReader(file, again.counts, KeyPair.generate(systemRandom).publicKey, systemClock)
  t.after(() => {
    later.close()
    again.close()
  })
  assert.deepEqual(again.damage, [])
  // Read before the slot is reused.
  assert.deepEqual(
    slotsIn(later).map(([number]) => number),
    [0, 2, 3],
  )
  const { key, chunk } = forged(5)
  const added = { node: key.publicKey, number: 0 }
  assert.equal(later.statusOf(added), undefined)
  again.receive(chunk)
  assert.equal(later.statusOf(added)?.number, 1)
  assert.equal(later.statusOf(forgotten), undefined)
  again.receive(streams[1].chunk)
  assert.equal(later.statusOf(forgotten)?.number, 4)
  assert.deepEqual(slotsIn(later), [
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 1],
  ])
  const reused = later.status().find(({ number }) => number === 1)
  assert.deepEqual(Buffer.from(reused?.key.node ?? []), Buffer.from(key.publicKey))
  assert.deepEqual(verifyLog(file).problems, [])
})

test('a live cursor reads the stream that gets a vacant slot under its own name', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const open = opener(file)
  const first = open()
  const old = forged()
  first.receive(old.chunk)
  first.receive(forged(2).chunk)
  first.forgetStream({ node: old.key.publicKey, number: 0 })
  first.close()
  const writer = open()
  const reader = new LogReader(file, writer.counts, KeyPair.generate(systemRandom).publicKey, systemClock)
  t.after(() => {
    reader.close()
    writer.close()
  })
  const cursor = new LogCursor(reader, { anyOf: [{ tags: [] }], order: 'asc' }, { live: reader.snapshot() })
  const next = (): Uint8Array | undefined => {
    cursor.begin()
    return cursor.next()?.stream.key.node
  }
  assert.ok(next())
  assert.equal(next(), undefined)
  const { key, chunk } = forged(9)
  writer.receive(chunk)
  cursor.extend(reader.snapshot())
  assert.deepEqual(Buffer.from(next() ?? []), Buffer.from(key.publicKey))
})
