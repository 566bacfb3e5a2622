import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { type Head, MalformedBytes } from '../../src/protocol/index.ts'
import { evidenceOfHeads } from '../../src/replication/fork.ts'
import { encodeEvidence } from '../../src/replication/fork-evidence.ts'
import { frozenCount, readChunk, verifyEvidence } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const context = { topic: 't', kind: 'live' } as const

/** Two histories of one stream with some frames in common. */
function branches(common: readonly number[], a: readonly number[], b: readonly number[]) {
  const key = KeyPair.generate(systemRandom)
  const one = new WrittenStream([...common, ...a], { key })
  return [one, new WrittenStream([...common, ...b], { key, parent: one, shared: common.length, text: 'y' })] as const
}

/** A receiver with the first frames of a stream, in chunks of one frame. */
function receiverOf(source: WrittenStream, frames: number, checkpoints: readonly number[] = []): PlainReceiver {
  const receiver = new PlainReceiver(source, contextOf())
  for (let i = 0; i < frames; i++)
    assert.equal(receiver.receive(source.chunk(i, i + 1, { checkpoint: checkpoints.includes(i + 1) })), 'stored')
  return receiver
}

/** The common checkpoint of the evidence of a receiver, which has to be valid. */
function commonOf({ evidence }: PlainReceiver): number | undefined {
  return verifyEvidence(evidence as Uint8Array, context).common?.count
}

const sizes = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 })

test('a chunk of another branch is always found out, and the evidence proves it from the last common checkpoint', () => {
  const chunks = fc.record({ have: fc.nat(), from: fc.nat(), to: fc.nat(), checkpoints: fc.array(fc.nat(8)) })
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 }),
      sizes,
      sizes,
      chunks,
      (common, a, b, pick) => {
        const [one, other] = branches(common, a, b)
        // At least one frame of each branch, and a chunk that starts at a common place.
        const have = common.length + 1 + (pick.have % a.length)
        const from = pick.from % (common.length + 1)
        const to = common.length + 1 + (pick.to % b.length)
        const receiver = receiverOf(one, have, pick.checkpoints)
        const before = { ...receiver.position }
        assert.equal(receiver.receive(other.chunk(from, to)), 'forked')
        assert.deepEqual(receiver.position, before)
        const last = [...receiver.checkpoints.keys()].findLast((count) => count <= one.startOf(common.length))
        assert.equal(commonOf(receiver), last)
        assert.equal(frozenCount(verifyEvidence(receiver.evidence as Buffer, context), receiver), last ?? 0)
        assert.equal(receiver.receive(one.chunk(0, have)), 'frozen')
      },
    ),
    { numRuns: 300 },
  )
})

test('a shorter head is compared with the chain: another hash, or no frame border there, is a fork', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  for (const chunk of [other.chunk(0, 2), other.chunk(1, 2), other.chunk(2, 3)])
    assert.equal(receiverOf(one, 3).receive(chunk), 'forked')
  const [wide, narrow] = branches([2], [4], [1, 3])
  assert.equal(receiverOf(wide, 2).receive(narrow.chunk(1, 2)), 'forked')
  assert.equal(receiverOf(one, 3).receive(one.chunk(1, 2)), 'known')
})

test('of pruned events only the kept checkpoint is compared', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  const pruned = (chunk: Buffer) => {
    const receiver = new PlainReceiver(one, contextOf())
    receiver.start(one.head(2, { checkpoint: true }))
    receiver.receive(one.chunk(2, 3))
    return receiver.receive(chunk)
  }
  assert.equal(pruned(other.chunk(0, 1)), 'known')
  assert.equal(pruned(other.chunk(1, 2)), 'forked')
  assert.equal(pruned(one.chunk(1, 2)), 'known')
})

test('a chunk that starts after the branches parted contradicts the stream, and with the head before it proves it', () => {
  const [one, other] = branches([2], [2, 2], [2, 2, 2])
  const receiver = receiverOf(one, 3)
  assert.equal(receiver.receive(other.chunk(3, 4)), 'contradicts')
  assert.equal(receiver.receive(other.chunk(3, 4), other.head(3)), 'forked')
  assert.equal(commonOf(receiver), undefined)
})

test('a waiting chunk that the chain contradicts when the gap is filled is evidence of a fork', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  for (const to of [2, 3]) {
    const receiver = receiverOf(one, 1)
    assert.equal(receiver.receive(other.chunk(2, 3), other.head(2)), 'waiting')
    assert.equal(receiver.receive(one.chunk(1, to)), 'forked')
    assert.equal(receiver.position.count, one.startOf(to))
    assert.equal(commonOf(receiver), undefined)
    assert.deepEqual(receiver.waiting, [])
  }
})

test('two early chunks whose starts have different hashes are evidence of a fork', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  const receiver = receiverOf(one, 1)
  receiver.receive(one.chunk(2, 3), one.head(2))
  assert.equal(receiver.receive(other.chunk(2, 3), other.head(2)), 'forked')
  assert.equal(commonOf(receiver), undefined)
})

test('two heads with one count and different hashes prove a fork without frames', () => {
  const [one, other] = branches([2], [2], [2])
  const record = evidenceOfHeads(one.head(2), other.head(2)) as Buffer
  assert.deepEqual(verifyEvidence(record, context).stream, one.stream)
})

/** The frames of a range, parsed. */
function framesOf(source: WrittenStream, from: number, to: number) {
  return readChunk(source.chunk(from, to)).frames
}

test('evidence that does not prove a fork is refused', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  const branch = (source: WrittenStream, to: number, from = 1, changed: Partial<Head> = {}) => ({
    signedHead: source.head(to, changed),
    frames: from < to ? framesOf(source, from, to) : [],
  })
  const checkpoint = one.head(1, { checkpoint: true })
  const encode = (...args: Parameters<typeof encodeEvidence>) => encodeEvidence(...args) as Buffer
  const good = encode(branch(one, 3), branch(other, 2), checkpoint)
  assert.equal(verifyEvidence(good, context).common?.count, 2)
  const stranger = new WrittenStream([2, 2])
  const bad = {
    'one head follows the other': encode(branch(one, 3), branch(one, 2), checkpoint),
    'the same head twice': encode(branch(one, 3, 3), branch(one, 3, 3), undefined),
    'different counts without frames': encode(branch(one, 3, 3), branch(other, 2, 2), checkpoint),
    'frames that do not start at the checkpoint': encode(branch(one, 3, 2), branch(other, 2), checkpoint),
    'frames of the other branch': encode(
      { ...branch(one, 3), frames: framesOf(other, 1, 3) },
      branch(other, 2),
      checkpoint,
    ),
    'a common head that is not a checkpoint': encode(branch(one, 3), branch(other, 2), one.head(1)),
    'a common checkpoint that is not before both': encode(
      branch(one, 3, 2),
      branch(other, 2, 2),
      one.head(2, { checkpoint: true }),
    ),
    'heads of two streams': encode(branch(one, 2, 2), branch(stranger, 2, 2), undefined),
    'heads of two stream numbers': encode(
      branch(one, 2, 2),
      branch(other, 2, 2, { stream: { ...one.stream, number: 1 } }),
      undefined,
    ),
    'another topic': encode(branch(one, 2, 2, { topic: 'u' }), branch(other, 2, 2, { topic: 'u' }), undefined),
    'a forged signature': flipped(good, 150),
    'other bytes': Buffer.from('shoal/fork/2\0'),
    'trailing bytes': Buffer.concat([good, Buffer.of(0)]),
  }
  for (const [name, record] of Object.entries(bad))
    assert.throws(() => verifyEvidence(record, context), MalformedBytes, name)
  for (let end = 0; end < good.length; end += 7)
    assert.throws(() => verifyEvidence(good.subarray(0, end), context), MalformedBytes)
  assert.throws(() => verifyEvidence(good, { topic: 't', kind: 'imported' }), MalformedBytes)
  assert.throws(() => verifyEvidence(Buffer.alloc(25 * 1024 * 1024), context), /too large/)
})

test('a changed byte of evidence never proves anything else', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  const receiver = receiverOf(one, 3, [1])
  receiver.receive(other.chunk(1, 3))
  const good = receiver.evidence as Buffer
  for (let at = 0; at < good.length; at++)
    assert.throws(() => verifyEvidence(flipped(good, at), context), MalformedBytes, `changed at ${at}`)
})

test('evidence contains no payloads', () => {
  const [one, other] = branches([2], [2, 2], [2, 2])
  const receiver = receiverOf(one, 3)
  receiver.receive(other.chunk(0, 3))
  const evidence = receiver.evidence as Buffer
  assert.ok(!evidence.includes('"x') && !evidence.includes('"y'))
})

test('a store that contradicts the common checkpoint of the evidence serves nothing', () => {
  const [one, other] = branches([2, 2], [2], [2])
  const receiver = receiverOf(one, 3, [2])
  receiver.receive(other.chunk(2, 3))
  const evidence = verifyEvidence(receiver.evidence as Buffer, context)
  assert.equal(frozenCount(evidence, receiver), 4)
  const third = new WrittenStream([2, 2, 2], { key: one.key, text: 'z' })
  assert.equal(frozenCount(evidence, receiverOf(third, 3)), 0)
  assert.equal(frozenCount(evidence, receiverOf(one, 1)), 4)
})

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ 0x10
  return changed
}
