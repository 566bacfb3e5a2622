import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hash, heads, signedHeadOf } from '../../src/protocol/index.ts'
import { ChunkVerifier, type VerifiedChunk } from '../../src/store/sqlite/index.ts'
import { memoryStore } from './acceptance/sources.ts'
import { chunksOf, numbered, requestOf } from './acceptance/support.ts'

test('a chunk is linked to the one before, or to where the stored stream ends', async () => {
  const source = memoryStore()
  await source.append(requestOf(numbered(3000)))
  const [first, second, third] = (await chunksOf(source)) as [Buffer, Buffer, Buffer]
  const { count, hash } = heads.decode(signedHeadOf(second))
  const leads = (verifier: ChunkVerifier, bytes: Uint8Array, end?: { count: number; hash: Hash }) =>
    (verifier.check({ bytes, end }) as VerifiedChunk).link?.leads
  const running = new ChunkVerifier('live')
  assert.deepEqual([leads(running, first), leads(running, second), leads(running, third)], [true, true, true])
  const restarted = new ChunkVerifier('live')
  assert.equal(leads(restarted, third), undefined, 'nothing is known of its start')
  assert.equal(leads(restarted, third, { count: count - 1, hash }), undefined)
  assert.equal(leads(restarted, third, { count, hash: 'x'.repeat(32) as Hash }), false)
  assert.equal(leads(restarted, third, { count, hash }), true)
})
