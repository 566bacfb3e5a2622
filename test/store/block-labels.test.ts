import assert from 'node:assert/strict'
import { test } from 'node:test'
import { viewOf } from '../../src/json/plain-text.ts'
import { encodeLabels } from '../../src/protocol/index.ts'
import { BlockLabels } from '../../src/store/sqlite/read/block-labels.ts'
import { IndexBuilder, labelHashes } from '../../src/store/sqlite/tag-index/tag-index.ts'
import * as fc from '../support/property.ts'

const size = 128
const label = fc.record({
  appId: fc.constantFrom('com.example.a', 'com.example.b'),
  tags: fc.oneof(
    {
      weight: 9,
      arbitrary: fc.array(fc.oneof(fc.constantFrom('a', 'b', 'ab'), fc.string({ minLength: 1 })), { maxLength: 5 }),
    },
    // More hashes than the initial capacity.
    { weight: 1, arbitrary: fc.nat(20).map((n) => Array.from({ length: 128 }, (_, i) => `${n}:${i}`)) },
  ),
})

/** Events with shared labels, in several rows: a block spans rows. */
const events = fc
  .array(label, { minLength: 1, maxLength: 40 })
  .chain((labels) => fc.array(fc.constantFrom(...labels), { minLength: 1, maxLength: size }))

function within(label: Buffer): { bytes: Buffer; view: DataView } {
  const bytes = Buffer.concat([Buffer.from('x'), label, label])
  return { bytes, view: viewOf(bytes) }
}

test('each label of a block has one number, and each event is indexed by all its labels', () => {
  const labels = new BlockLabels(size)
  fc.assert(
    fc.property(fc.array(events, { minLength: 1, maxLength: 3 }), fc.nat(1e6), (blocks, first) => {
      let offset = first
      const [index, naive] = [new IndexBuilder(first), new IndexBuilder(first)]
      for (const block of blocks) {
        const bytes = block.map(({ appId, tags }) => encodeLabels(appId, tags))
        // Each event is surrounded by other bytes.
        const numbers = bytes.map((b) => labels.numberOf(within(b), 1, 1 + b.length))
        const known: string[] = []
        const expected = bytes.map((b) => {
          const text = b.toString('latin1')
          if (!known.includes(text)) known.push(text)
          return known.indexOf(text)
        })
        assert.deepEqual(numbers, expected)
        assert.equal(labels.count, known.length)
        labels.addTo(index, offset, Uint16Array.from(numbers))
        for (const b of bytes) naive.add(offset++, labelHashes(b, 0, b.length))
        labels.clear()
      }
      assert.deepEqual(index.pairs(), naive.pairs())
    }),
  )
})
