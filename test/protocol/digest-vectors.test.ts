import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { PublicKey } from '../../src/identity/index.ts'
import type { Hash } from '../../src/protocol/index.ts'
import { bucketOf, HeadDigest } from '../../src/replication/index.ts'
import { naiveDigest, naiveEntry } from './naive-digest.ts'

interface Row {
  readonly node: string
  readonly number: number
  readonly pruned: number
  readonly count: number
  readonly hash: string
  readonly records: string
  readonly frozen: boolean
  readonly bucket: number
  readonly entry: string
}

interface Vectors {
  readonly topic: string
  readonly table: readonly Row[]
  readonly emptyBucket: string
  readonly buckets: Readonly<Record<string, string>>
  readonly digest: string
}

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
const block = /^### Test vectors of the digest$[\s\S]*?^```json\n([\s\S]*?)^```/m.exec(page)?.[1] ?? ''
const { topic, table, emptyBucket, buckets, digest } = JSON.parse(block) as Vectors

/** The digests of all buckets, as the vectors say. */
const expected = Array.from({ length: 256 }, (_, i) => buckets[i] ?? emptyBucket)

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const latin1 = (hex: string): Hash => bytes(hex).toString('latin1') as Hash
const hex = (hash: Hash): string => Buffer.from(hash, 'latin1').toString('hex')

test('the digest of a head table matches the test vectors of the protocol', () => {
  const head = new HeadDigest(topic)
  for (const { node, number, hash, records, bucket, pruned, count, frozen } of table) {
    const stream = { node: bytes(node) as Uint8Array as PublicKey, number }
    assert.equal(bucketOf(stream), bucket)
    head.set({ stream, pruned, count, hash: latin1(hash), records: latin1(records), frozen })
  }
  assert.deepEqual(head.buckets().map(hex), expected)
  assert.equal(hex(head.all), digest)
})

test('the naive implementation of the digest matches the test vectors of the protocol', () => {
  const rows = table.map(({ node, hash, records, ...row }) => ({
    ...row,
    node: bytes(node),
    hash: bytes(hash),
    records: bytes(records),
  }))
  for (const row of rows) assert.equal(naiveEntry(topic, row).toString('hex'), row.entry)
  const naive = naiveDigest(topic, rows)
  assert.deepEqual(
    naive.buckets.map((bucket) => bucket.toString('hex')),
    expected,
  )
  assert.equal(naive.all.toString('hex'), digest)
})
