import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { genesis, type Head, heads, MalformedBytes, type PruneRecord, pruneRecords } from '../../src/protocol/index.ts'
import {
  currentPrune,
  decidePrune,
  effectOfPrune,
  type PrunableStream,
  signPrune,
  startOfStream,
  verifyPrune,
} from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { naiveRecord } from '../protocol/naive.ts'
import { contextOf, now, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 2, 2])
const context = contextOf()
const checkpoint = source.head(2, { checkpoint: true })
const { hash, lamport } = heads.decode(checkpoint)
const record: PruneRecord = { topic: 't', stream: source.stream, count: 4, hash, lamport, time: now }

/** The stream with some of its events, and the checkpoint that the record names. */
function knownAt(count: number, pruned: number, hasCheckpoint = true): PrunableStream {
  return {
    position: Object.assign(startOfStream('t', 'live', source.stream, false), { count, pruned }),
    placeAt: (count) => {
      const frame = source.frames.find(({ end }) => end === count)
      return frame && { count, hash: frame.hash, lamport: frame.lamport }
    },
    hasCheckpoint: () => hasCheckpoint,
  }
}

const refused = (error: unknown): boolean => error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT'

test('a prune record removes stored events, and has no effect on those that are pruned already', () => {
  const effectAt = (count: number, pruned: number) =>
    effectOfPrune(record, undefined, knownAt(count, pruned), context).is
  assert.equal(effectAt(6, 6), 'none')
  assert.equal(effectAt(4, 4), 'none')
  assert.equal(effectAt(6, 3), 'remove')
  assert.equal(effectAt(4, 0), 'remove')
})

test('a prune record ahead of a stream needs the checkpoint head, and the stream starts there', () => {
  for (const known of [undefined, knownAt(0, 0), knownAt(3, 0)]) {
    assert.throws(() => effectOfPrune(record, undefined, known, context), refused)
    const effect = effectOfPrune(record, checkpoint, known, context)
    assert.deepEqual(effect, { is: 'start', head: heads.decode(checkpoint), signedHead: checkpoint })
  }
})

test('a head that is not the checkpoint of the prune record, or too far ahead, is refused', () => {
  const other = { node: KeyPair.generate(systemRandom).publicKey, number: 0 }
  const wrong: Partial<Head>[] = [
    { checkpoint: false },
    { count: 3 },
    { topic: 'u' },
    { stream: { ...source.stream, number: 1 } },
    { lamport: now + 86_400e6 + 1 },
  ]
  for (const changed of wrong) {
    const head = source.head(2, { checkpoint: true, ...changed })
    assert.throws(() => effectOfPrune(record, head, undefined, context), refused, JSON.stringify(changed))
  }
  const ofOther = { ...record, stream: other }
  assert.throws(() => effectOfPrune(ofOther, checkpoint, undefined, context), refused)
  const forged = Buffer.from(checkpoint)
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
  assert.throws(() => effectOfPrune(record, forged, undefined, context), MalformedBytes)
})

test('a prune record needs its head where a chunk ends early, and the head ends the chunk', () => {
  const known = knownAt(6, 0, false)
  assert.throws(() => effectOfPrune(record, undefined, known, context), refused)
  assert.deepEqual(effectOfPrune(record, checkpoint, known, context), {
    is: 'remove',
    checkpoint: { place: { count: 4, hash, lamport }, signedHead: checkpoint },
  })
  assert.throws(() => effectOfPrune(record, checkpoint, known, { ...context, kind: 'imported' }), refused)
})

test('a prune record that contradicts the stored chain or its head is the sign of a fork', () => {
  const other = genesis('t', source.stream)
  const contradicting: Partial<PruneRecord>[] = [{ hash: other }, { lamport: lamport + 1 }, { count: 3 }, { count: 5 }]
  for (const changed of contradicting)
    for (const head of [undefined, checkpoint]) {
      const forked = { ...record, ...changed }
      assert.deepEqual(effectOfPrune(forked, head, knownAt(6, 0), context), { is: 'fork' }, JSON.stringify(changed))
      // Own streams as well: somebody else has the key.
      assert.deepEqual(effectOfPrune(forked, head, knownAt(6, 0), contextOf(source.key)), { is: 'fork' })
    }
  for (const known of [undefined, knownAt(3, 0), knownAt(6, 0, false)])
    assert.deepEqual(effectOfPrune(record, source.head(2, { checkpoint: true, hash: other }), known, context), {
      is: 'fork',
    })
  assert.deepEqual(effectOfPrune({ ...record, hash: other }, undefined, knownAt(6, 4), context), { is: 'fork' })
  assert.deepEqual(effectOfPrune({ ...record, hash: other }, undefined, knownAt(6, 6), context), { is: 'none' })
})

test('only a local decision prunes own events', () => {
  const own = contextOf(source.key)
  for (const head of [undefined, checkpoint])
    for (const known of [undefined, knownAt(3, 0), knownAt(6, 0), knownAt(6, 3)])
      assert.deepEqual(effectOfPrune(record, head, known, own), { is: 'hold' })
  assert.deepEqual(effectOfPrune(record, checkpoint, knownAt(6, 4), own), { is: 'none' })
  const decided = decidePrune(source.stream, 4, knownAt(6, 0), own)
  assert.deepEqual(decided, { is: 'remove', signed: pruneRecords.sign(record, source.key) })
  const early = decidePrune(source.stream, 4, knownAt(6, 0, false), own)
  assert.deepEqual(early?.checkpoint, { place: { count: 4, hash, lamport }, signedHead: checkpoint })
  assert.equal(decidePrune(source.stream, 4, knownAt(6, 4), own), undefined)
})

test('an own stream is not pruned where no frame ends, beyond its end, at its start, or if it was imported', () => {
  const own = contextOf(source.key)
  for (const count of [-1, 0, 1, 3, 5, 8, Number.NaN])
    assert.throws(() => decidePrune(source.stream, count, knownAt(6, 0), own), refused, String(count))
  assert.throws(() => decidePrune(source.stream, 4, undefined, own), refused)
  assert.throws(() => decidePrune(source.stream, 4, knownAt(6, 0), { ...own, kind: 'imported' }), refused)
})

test('an own prune record of an earlier version is sent in the current form, one of another node is not', () => {
  const bytes = naiveRecord('shoal/prune/1', 't', source.stream.node, 0, 4, now)
  const legacy = Buffer.concat([bytes, source.key.sign(bytes)])
  const place = { count: 4, hash, lamport }
  const signed = pruneRecords.sign(record, source.key)
  assert.deepEqual(currentPrune(legacy, place, { ...contextOf(source.key), now: () => now + 5 }), signed)
  assert.equal(currentPrune(legacy, place, context), undefined)
  for (const by of [context, contextOf(source.key)]) assert.equal(currentPrune(signed, place, by), signed)
  assert.throws(() => verifyPrune(legacy, context), MalformedBytes)
})

test('a prune record with a wrong signature, type or topic is refused', () => {
  const own = contextOf(source.key)
  const signed = signPrune({ count: 4, hash, lamport }, source.stream, own)
  assert.deepEqual(verifyPrune(signed, context), record)
  assert.throws(() => verifyPrune(signed, { ...context, topic: 'u' }), refused)
  assert.throws(() => verifyPrune(checkpoint, context), MalformedBytes)
  const byAnother = pruneRecords.sign(record, KeyPair.generate(systemRandom))
  assert.throws(() => verifyPrune(byAnother, context), MalformedBytes)
})
