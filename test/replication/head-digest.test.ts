import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import type { PublicKey } from '../../src/identity/index.ts'
import type { Hash } from '../../src/protocol/index.ts'
import { bucketOf, type DigestEntry, HeadDigest } from '../../src/replication/index.ts'
import { naiveBucketOf, naiveDigest } from '../protocol/naive-digest.ts'
import * as fc from '../support/property.ts'

const hashes = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('latin1') as Hash)

const entries: fc.Arbitrary<DigestEntry> = fc.record({
  stream: fc.record({
    node: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytes as PublicKey),
    number: fc.nat({ max: 3 }),
  }),
  pruned: fc.nat(),
  count: fc.maxSafeNat(),
  hash: hashes,
  records: hashes,
  frozen: fc.boolean(),
})

const nameOf = ({ stream: { node, number } }: DigestEntry) => `${Buffer.from(node).toString('hex')}-${number}`
const tables = fc.uniqueArray(entries, { selector: nameOf, maxLength: 40 })

function digestOf(table: Iterable<DigestEntry>, topic = 't'): HeadDigest {
  const digest = new HeadDigest(topic)
  for (const entry of table) digest.set(entry)
  return digest
}

const hex = (hash: Hash) => Buffer.from(hash, 'latin1').toString('hex')

/** The buckets in which two digests differ. */
function differing(a: HeadDigest, b: HeadDigest): number[] {
  const others = b.buckets()
  return a.buckets().flatMap((digest, i) => (digest === others[i] ? [] : [i]))
}

test('a digest is the one of the protocol, as the naive implementation computes it', () => {
  fc.assert(
    fc.property(tables, (table) => {
      const naive = table.map(({ stream, hash, records, ...rest }) => ({
        ...rest,
        ...stream,
        hash: Buffer.from(hash, 'latin1'),
        records: Buffer.from(records, 'latin1'),
      }))
      const [digest, expected] = [digestOf(table), naiveDigest('t', naive)]
      assert.equal(hex(digest.all), expected.all.toString('hex'))
      assert.deepEqual(
        digest.buckets().map(hex),
        expected.buckets.map((bucket) => bucket.toString('hex')),
      )
      for (const { stream } of table) assert.equal(bucketOf(stream), naiveBucketOf(stream))
    }),
    { numRuns: 30 },
  )
})

test('equal tables have equal digests, in whatever order and by whatever changes they came about', () => {
  const steps = fc.array(fc.record({ at: fc.nat(), entry: entries, remove: fc.boolean(), read: fc.boolean() }))
  fc.assert(
    fc.property(tables, steps, (table, steps) => {
      const expected = new Map(table.map((entry) => [nameOf(entry), entry]))
      const digest = digestOf(table.toReversed())
      for (const { at, entry, remove, read } of steps) {
        // Mostly streams that are there already.
        const stream = [...expected.values(), entry][at % (expected.size + 1)]?.stream ?? entry.stream
        const changed = { ...entry, stream }
        if (remove) {
          digest.delete(stream)
          expected.delete(nameOf(changed))
        } else {
          digest.set(changed)
          expected.set(nameOf(changed), changed)
        }
        if (read) assert.equal(digest.all, digestOf(expected.values()).all)
      }
      const again = digestOf(expected.values())
      assert.deepEqual([digest.all, digest.buckets()], [again.all, again.buckets()])
    }),
    { numRuns: 50 },
  )
})

test('two tables that differ in one stream differ in its bucket, and in no other', () => {
  const changes: ((entry: DigestEntry) => DigestEntry)[] = [
    (entry) => ({ ...entry, pruned: entry.pruned + 1 }),
    (entry) => ({ ...entry, count: entry.count === 0 ? 1 : entry.count - 1 }),
    (entry) => ({ ...entry, hash: flipped(entry.hash) }),
    (entry) => ({ ...entry, records: flipped(entry.records) }),
    (entry) => ({ ...entry, frozen: !entry.frozen }),
  ]
  fc.assert(
    fc.property(tables, entries, fc.constantFrom(...changes, undefined), (table, entry, change) => {
      const others = table.filter((other) => nameOf(other) !== nameOf(entry))
      const [one, two] = [digestOf([...others, entry]), digestOf(others)]
      if (change !== undefined) two.set(change(entry))
      assert.notEqual(one.all, two.all)
      assert.deepEqual(differing(one, two), [bucketOf(entry.stream)])
      two.set(entry)
      assert.equal(one.all, two.all)
      assert.deepEqual(differing(one, two), [])
    }),
  )
})

function flipped(hash: Hash): Hash {
  return `${hash.slice(0, -1)}${String.fromCharCode(hash.charCodeAt(31) ^ 1)}` as Hash
}

test('the digest of the same streams in another topic is another one', () => {
  assert.notEqual(digestOf([], 't').all, digestOf([], 'u').all)
  fc.assert(
    fc.property(entries, (entry) => assert.notEqual(digestOf([entry], 't').all, digestOf([entry], 'u').all)),
    { numRuns: 20 },
  )
})

test('a change of one stream leaves the hashes of all other buckets as they are', () => {
  const node = (i: number) => Buffer.alloc(32, `${i}`) as Uint8Array as PublicKey
  const hash = 'h'.repeat(32) as Hash
  const entry = (i: number) => ({
    stream: { node: node(i), number: i },
    pruned: 0,
    count: 1,
    hash,
    records: hash,
    frozen: false,
  })
  const digest = digestOf(Array.from({ length: 3000 }, (_, i) => entry(i)))
  const before = digest.buckets()
  assert.equal(new Set(before).size, format.digestBuckets, 'the streams are spread over all buckets')
  digest.set({ ...entry(7), count: 2 })
  digest.set({ ...entry(8), count: 1 })
  assert.deepEqual(
    digest.buckets().flatMap((digest, i) => (digest === before[i] ? [] : [i])),
    [bucketOf(entry(7).stream)],
  )
})

test('a table with more streams than a topic can have fails an assertion', () => {
  const digest = new HeadDigest('t')
  const hash = 'h'.repeat(32) as Hash
  const node = Buffer.alloc(32) as Uint8Array as PublicKey
  const add = (number: number) =>
    digest.set({ stream: { node, number }, pruned: 0, count: 1, hash, records: hash, frozen: false })
  for (let i = 0; i < format.streamsPerTopic; i++) add(i)
  assert.throws(() => add(format.streamsPerTopic), /at most as many streams/)
  add(5)
})
