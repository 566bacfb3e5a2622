import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { type Head, heads, MalformedBytes, type PruneRecord, pruneRecords } from '../../src/protocol/index.ts'
import {
  effectOfPrune,
  type StreamPosition,
  signPrune,
  startOfStream,
  verifyPrune,
} from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { contextOf, now, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 2, 2])
const context = contextOf()
const checkpoint = source.head(2, { checkpoint: true })
const record: PruneRecord = { topic: 't', stream: source.stream, count: 4, time: now }

function positionAt(count: number, pruned: number): StreamPosition {
  return Object.assign(startOfStream('t', 'live', source.stream, false), { count, pruned })
}

const refused = (error: unknown): boolean => error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT'

test('a prune record removes stored events, and has no effect on those that are pruned already', () => {
  const effectAt = (count: number, pruned: number) =>
    effectOfPrune(record, undefined, positionAt(count, pruned), context, 'received').is
  assert.equal(effectAt(6, 6), 'none')
  assert.equal(effectAt(4, 4), 'none')
  assert.equal(effectAt(6, 3), 'remove')
  assert.equal(effectAt(4, 0), 'remove')
})

test('a prune record ahead of a stream needs the checkpoint head, and the stream starts there', () => {
  for (const known of [undefined, positionAt(0, 0), positionAt(3, 0)]) {
    assert.throws(() => effectOfPrune(record, undefined, known, context, 'received'), refused)
    const effect = effectOfPrune(record, checkpoint, known, context, 'received')
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
    assert.throws(() => effectOfPrune(record, head, undefined, context, 'received'), refused, JSON.stringify(changed))
  }
  const ofOther = { ...record, stream: other }
  assert.throws(() => effectOfPrune(ofOther, checkpoint, undefined, context, 'received'), refused)
  const forged = Buffer.from(checkpoint)
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
  assert.throws(() => effectOfPrune(record, forged, undefined, context, 'received'), MalformedBytes)
})

test('only a local decision prunes own events', () => {
  const own = contextOf(source.key)
  for (const head of [undefined, checkpoint])
    for (const known of [undefined, positionAt(3, 0), positionAt(6, 0), positionAt(6, 3)])
      assert.deepEqual(effectOfPrune(record, head, known, own, 'received'), { is: 'hold' })
  assert.deepEqual(effectOfPrune(record, checkpoint, positionAt(6, 4), own, 'received'), { is: 'none' })
  assert.deepEqual(effectOfPrune(record, undefined, positionAt(6, 0), own, 'local'), { is: 'remove' })
})

test('a prune record with a wrong signature, type or topic is refused', () => {
  const own = contextOf(source.key)
  const signed = signPrune(0, 4, own)
  assert.deepEqual(verifyPrune(signed, context), record)
  assert.throws(() => verifyPrune(signed, { ...context, topic: 'u' }), refused)
  assert.throws(() => verifyPrune(checkpoint, context), MalformedBytes)
  const byAnother = pruneRecords.sign(record, KeyPair.generate(systemRandom))
  assert.throws(() => verifyPrune(byAnother, context), MalformedBytes)
})
