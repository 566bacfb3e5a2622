import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { encodeChunk, type Hash, heads, MalformedBytes } from '../../src/protocol/index.ts'
import { decideChunk } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { frameOf, payloadsOf } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { noStreams, PlainReceiver } from './plain-receiver.ts'
import { contextOf, now, WrittenStream } from './written-stream.ts'

const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 12 })

/** Chunks, as ranges of frames modulo their number; a forged chunk has a changed payload. */
const deliveries = fc.array(
  fc.record({ from: fc.nat(), length: fc.nat(), checkpoint: fc.boolean(), forged: fc.boolean() }),
  { maxLength: 30 },
)

/** Changes a payload: encoding and signature stay valid, the hash chain does not. */
function forge(chunk: Buffer): Buffer {
  const forged = Buffer.from(chunk)
  const at = forged.indexOf('"x')
  assert.ok(at >= 0)
  forged.write('"y', at)
  return forged
}

test('out-of-order, duplicate, overlapping and forged chunks always leave a prefix of the stream', () => {
  fc.assert(
    fc.property(sizes, deliveries, (sizes, list) => {
      const source = new WrittenStream(sizes)
      const receiver = new PlainReceiver(source, contextOf())
      for (const { from, length, checkpoint, forged } of list) {
        const first = from % sizes.length
        const chunk = source.chunk(first, first + 1 + (length % (sizes.length - first)), { checkpoint })
        const counted = receiver.position.count
        try {
          const before = first === 0 ? undefined : source.head(first)
          const state = receiver.receive(forged ? forge(chunk) : chunk, before)
          assert.equal(receiver.position.count > counted, state === 'stored')
        } catch (error) {
          assert.ok(error instanceof MalformedBytes && forged, String(error))
          assert.equal(receiver.position.count, counted)
        }
      }
      const { count, lamport, chain } = receiver.position
      const end = source.frames.find((frame) => frame.end === count)
      assert.deepEqual(
        receiver.stored.flatMap(payloadsOf),
        Array.from({ length: count }, (_, i) => `"x${i}"`),
      )
      assert.equal(lamport, end?.lamport ?? -1)
      assert.equal(receiver.clock.next, lamport + 1)
      if (end !== undefined) assert.equal(chain.hash, end.hash)
      assert.ok(receiver.waiting.every(({ chunk }) => chunk.first > count))
    }),
    { numRuns: 500 },
  )
})

test('a stream is complete after all its chunks were received, in any order', () => {
  const orders = sizes.chain((sizes) =>
    fc.tuple(fc.constant(sizes), fc.shuffledSubarray([...sizes.keys()], { minLength: sizes.length })),
  )
  fc.assert(
    fc.property(orders, ([sizes, order]) => {
      const source = new WrittenStream(sizes)
      const receiver = new PlainReceiver(source, contextOf())
      for (const frame of order)
        receiver.receive(source.chunk(frame, frame + 1), frame === 0 ? undefined : source.head(frame))
      assert.equal(receiver.position.count, source.count)
      assert.deepEqual(receiver.waiting, [])
    }),
  )
})

test('redacted payloads of a chunk are not stored, and the hash chain stays the same', () => {
  fc.assert(
    fc.property(sizes, fc.array(fc.nat(40)), (sizes, offsets) => {
      const source = new WrittenStream(sizes)
      const receiver = new PlainReceiver(source, contextOf())
      receiver.redacted.push(...offsets)
      receiver.receive(source.chunk(0, sizes.length))
      assert.deepEqual(
        receiver.stored.flatMap(payloadsOf),
        Array.from({ length: source.count }, (_, i) => (offsets.includes(i) ? null : `"x${i}"`)),
      )
      assert.equal(receiver.position.chain.hash, source.frames.at(-1)?.hash)
      const bytes = receiver.stored.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
      assert.equal(receiver.position.bytesSince, bytes)
    }),
  )
})

test('a chunk that does not continue the stream is refused and changes nothing', () => {
  const key = KeyPair.generate(systemRandom)
  const source = new WrittenStream([2, 2, 2], { key, lamport: 100 })
  const unchanged = (check: (receiver: PlainReceiver) => void) => {
    const receiver = new PlainReceiver(source, contextOf())
    receiver.receive(source.chunk(0, 1))
    const before = { ...receiver.position }
    check(receiver)
    assert.deepEqual(receiver.position, before)
    assert.deepEqual([receiver.stored.length, receiver.clock.next], [1, before.lamport + 1])
  }
  const refused = (chunk: Buffer, message: RegExp, before?: Buffer) =>
    unchanged((receiver) =>
      assert.throws(
        () => receiver.receive(chunk, before),
        (error) => error instanceof MalformedBytes && message.test(error.message),
      ),
    )
  const unlinked = /do not lead to the signed head/
  // Without the head before it, a forged chunk looks like one of another branch.
  unchanged((receiver) => assert.equal(receiver.receive(forge(source.chunk(1, 2))), 'contradicts'))
  refused(forge(source.chunk(1, 2)), unlinked, source.head(1))
  const wrongHash = { hash: source.frames[0]?.hash as never }
  unchanged((receiver) => assert.equal(receiver.receive(source.chunk(1, 2, wrongHash)), 'contradicts'))
  refused(source.chunk(1, 2, wrongHash), unlinked, source.head(1))
  refused(source.chunk(0, 2, wrongHash), unlinked)
  refused(descending(key), /not ascending/)
})

/** A chunk of a stream that continues the chain with a lower lamport timestamp. */
function descending(key: KeyPair): Buffer {
  const { frames } = new WrittenStream([2, 2, 2], { key, lamport: 100 })
  const stream = { node: key.publicKey, number: 0 }
  const event = { lamport: 50, time: now, appId: 'a', tags: [], payload: '1' }
  const { record, hash } = frameOf(frames[0]?.hash as Hash, 2, [event], Buffer.alloc(16))
  const head = { topic: 't', stream, count: 3, lamport: 50, hash, checkpoint: false, time: now }
  return encodeChunk([record], heads.sign(head, key))
}

test('a stream with more than 2047 events without a checkpoint is refused', () => {
  const source = new WrittenStream([1024, 1023, 1])
  for (const checkpoint of [false, true]) {
    const receiver = new PlainReceiver(source, contextOf())
    receiver.receive(source.chunk(0, 2, { checkpoint }))
    if (checkpoint) assert.equal(receiver.receive(source.chunk(2, 3)), 'stored')
    else assert.throws(() => receiver.receive(source.chunk(2, 3)), /too few checkpoints/)
  }
})

test('a chunk of another topic is refused', () => {
  const source = new WrittenStream([1])
  assert.throws(() => decideChunk(source.chunk(0, 1, { topic: 'u' }), {}, noStreams, contextOf()), /another topic/)
})

test('a chunk that continues an own stream is stored, and one that leaves a gap does not wait', () => {
  const source = new WrittenStream([1, 1])
  const receiver = new PlainReceiver(source, contextOf(source.key))
  assert.equal(receiver.receive(source.chunk(1, 2), source.head(1)), 'gap')
  assert.equal(receiver.receive(source.chunk(0, 1)), 'stored')
  assert.equal(receiver.receive(source.chunk(1, 2)), 'stored')
})

test('a chunk with lamport timestamps more than a day ahead is early, also when it is out of order', () => {
  const day = 86_400e6
  const context = contextOf()
  const ahead = (lamport: number, at = context) => {
    const source = new WrittenStream([1], { lamport })
    return new PlainReceiver(source, at).receive(source.chunk(0, 1))
  }
  assert.equal(ahead(now + day), 'stored')
  assert.equal(ahead(now + day + 1), 'early')
  const endless = { ...context, now: () => Number.MAX_SAFE_INTEGER }
  assert.equal(ahead(Number.MAX_SAFE_INTEGER - 1, endless), 'stored')
  assert.equal(ahead(Number.MAX_SAFE_INTEGER, endless), 'early')
  const source = new WrittenStream([1, 1], { lamport: now + day + 1 })
  assert.equal(new PlainReceiver(source, context).receive(source.chunk(1, 2), source.head(1)), 'early')
})

test('a duplicate chunk is known', () => {
  const source = new WrittenStream([1, 1])
  const receiver = new PlainReceiver(source, contextOf())
  receiver.receive(source.chunk(0, 2))
  assert.deepEqual(
    [source.chunk(0, 1), source.chunk(1, 2), source.chunk(0, 2)].map((chunk) => receiver.receive(chunk)),
    ['known', 'known', 'known'],
  )
})

test('a stream that starts at a checkpoint continues with its waiting chunks', () => {
  const source = new WrittenStream([2, 2, 2, 2])
  const receiver = new PlainReceiver(source, contextOf())
  receiver.receive(source.chunk(3, 4), source.head(3))
  receiver.receive(source.chunk(2, 3), source.head(2))
  receiver.start(source.head(2, { checkpoint: true }))
  assert.equal(receiver.position.count, 8)
  assert.deepEqual(receiver.stored.flatMap(payloadsOf), ['"x4"', '"x5"', '"x6"', '"x7"'])
})
