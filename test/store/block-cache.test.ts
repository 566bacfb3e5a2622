import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { BlockCache } from '../../src/store/sqlite/read/block-cache.ts'
import type { SealedBlock } from '../../src/store/sqlite/read/sealed-block.ts'
import * as fc from '../support/property.ts'

/** The part of a block that the cache uses, with the calls it received. */
class PlainBlock {
  readonly first: number
  readonly count: number
  readonly bytes: { readonly length: number }
  cached = false
  shared = false

  constructor(first: number, count: number, bytes: number) {
    this.first = first
    this.count = count
    this.bytes = { length: bytes }
  }

  onCached(): void {
    this.cached = true
  }

  onShared(): void {
    this.shared = true
  }

  onEvicted(): void {
    this.cached = false
  }
}

const step = fc.record({
  /** Blocks are contiguous, with one or many events. */
  block: fc.nat(60),
  kind: fc.constantFrom('put', 'putIfRoom', 'get', 'resize'),
  within: fc.nat(200),
})

test('a cached block is found by each of its events, and by no other', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ count: fc.integer({ min: 1, max: 200 }), share: fc.integer({ min: 1, max: 12 }) }), {
        minLength: 61,
        maxLength: 61,
      }),
      fc.array(step, { maxLength: 200 }),
      (sizes, steps) => {
        const cache = new BlockCache()
        const isRight = (block: PlainBlock, within: number): void =>
          assert.equal(cache.get(block.first + within), block.cached ? block : undefined)
        let first = 1000
        const blocks = sizes.map(({ count, share }) => {
          const block = new PlainBlock(first, count, Math.floor(tuning.blockCacheBytes / share / 2))
          first += count
          return block
        })
        for (const { block: number, kind, within } of steps) {
          const block = blocks[number] as PlainBlock
          if (kind === 'resize') cache.capacity = tuning.blockCacheBytes / (1 + (within % 4))
          else if (kind === 'get') isRight(block, within % block.count)
          else if (!block.cached) cache.put(block.first, block as unknown as SealedBlock, kind === 'putIfRoom')
        }
        for (const block of blocks) {
          isRight(block, 0)
          isRight(block, block.count - 1)
        }
        assert.equal(cache.get(999), undefined)
        assert.equal(cache.get(first), undefined)
        cache.clear()
        for (const block of blocks) assert.equal(cache.get(block.first), undefined)
      },
    ),
  )
})
