import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genesis } from '../../src/protocol/index.ts'
import {
  decideVerified,
  linkChunk,
  plainGrowth,
  readChunk,
  summaryOf,
  verifyGiven,
} from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const context = contextOf()

function summary(bytes: Buffer, from: Parameters<typeof linkChunk>[1] | undefined) {
  const chunk = readChunk(bytes)
  return summaryOf(chunk, from === undefined ? undefined : linkChunk(chunk, from))
}

test('a chunk is linked from the hash before it, and from no other one', () => {
  const source = new WrittenStream([2, 3, 1])
  const [first, second] = [source.chunk(0, 1), source.chunk(1, 3)]
  const start = genesis('t', source.stream)
  assert.equal(linkChunk(readChunk(first), start).leads, true)
  assert.equal(linkChunk(readChunk(second), source.frames[0]?.hash as typeof start).leads, true)
  assert.equal(linkChunk(readChunk(second), start).leads, false)
})

test('a plain growth is what the rules of admission decide, and they decide all other cases', () => {
  // Half of the chunks start where the stream ends, and half are linked from where they start.
  const place = (max: number) => fc.option(fc.nat(max), { nil: undefined, freq: 1 })
  const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 6 })
  const cases = fc.record({
    sizes,
    stored: fc.nat(5),
    from: place(5),
    to: fc.nat(6),
    redacted: fc.boolean(),
    waits: fc.boolean(),
    isForked: fc.boolean(),
    linkFrom: place(6),
  })
  let plain = 0
  fc.assert(
    fc.property(cases, (given) => {
      const parent = new WrittenStream(given.sizes)
      const { length } = parent.frames
      const source = given.isForked
        ? new WrittenStream(given.sizes, { key: parent.key, text: 'other', parent, shared: 1 })
        : parent
      const receiver = new PlainReceiver(parent, context)
      const stored = Math.min(given.stored, length - 1)
      if (stored > 0) receiver.receive(parent.chunk(0, stored))
      const from = Math.min(given.from ?? stored, length - 1)
      const to = Math.max(from + 1, Math.min(given.to, length))
      if (given.waits && stored > 0 && stored + 1 < length)
        receiver.receive(parent.chunk(length - 1, length), parent.head(length - 1))
      if (given.redacted) receiver.redacted.push(source.startOf(from))
      const at = Math.min(given.linkFrom ?? from, length)
      const start = at === 0 ? genesis('t', source.stream) : (source.frames[at - 1]?.hash as never)
      const bytes = source.chunk(from, to)
      const chunk = summary(bytes, start)
      const growth = plainGrowth(chunk, receiver, context)
      const contents = { ...verifyGiven(bytes, undefined).chunk, size: bytes.length, link: chunk.link }
      const streams = { find: () => receiver, limitOf: () => undefined }
      const decision = decideVerified(contents, {}, streams, context)
      const unlinked = decideVerified({ ...contents, link: undefined }, {}, streams, context)
      // What is known about the hashes never changes the decision.
      assert.deepEqual(decision.is, unlinked.is)
      if (growth === undefined) return
      plain++
      assert.ok(decision.is === 'store')
      assert.equal(decision.additions.length, 1)
      const [addition] = decision.additions
      assert.deepEqual(
        [growth.count, growth.lamport, growth.chain.hash, growth.bytes],
        [addition?.count, addition?.lamport, addition?.chain.hash, addition?.bytes],
      )
    }),
    { numRuns: 200 },
  )
  assert.ok(plain > 0, 'some of the cases are plain')
})
