import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PublicKey } from '../../src/identity/index.ts'
import type { Hash } from '../../src/protocol/index.ts'
import { HeadTable, type TableRow } from '../../src/sync/head-table.ts'
import * as fc from '../support/property.ts'

const heads: fc.Arbitrary<TableRow> = fc
  .record({ node: fc.nat({ max: 20 }), number: fc.nat({ max: 5 }), count: fc.nat(), hash: fc.nat({ max: 255 }) })
  .map(({ node, number, count, hash }) => ({
    key: { node: new Uint8Array(32).fill(node) as PublicKey, number },
    count,
    pruned: 0,
    hash: String.fromCharCode(hash).repeat(32) as Hash,
    records: 'r'.repeat(32) as Hash,
    frozen: false,
    head: Buffer.alloc(0),
  }))

function tableOf(list: readonly TableRow[]): HeadTable {
  const table = new HeadTable('test', () => true)
  for (const head of list) table.set(head)
  return table
}

test('digests depend on the heads, not on the order of changes or on signatures', () => {
  fc.assert(
    fc.property(fc.array(heads), fc.array(heads), (before, after) => {
      const changed = tableOf([...before, ...after])
      const fresh = tableOf([...changed.all()].reverse().map((head) => ({ ...head, head: Buffer.of(1) })))
      assert.deepEqual(changed.digest(), fresh.digest())
      assert.deepEqual(changed.differing(fresh.buckets()), [])
    }),
  )
})

test('a changed stream changes the digest of one bucket, which contains the stream', () => {
  fc.assert(
    fc.property(fc.array(heads, { minLength: 1 }), (list) => {
      const table = tableOf(list)
      const before = table.buckets()
      const [first] = [...table.all()] as [TableRow]
      const grown = { ...first, count: first.count + 1 }
      const digest = table.digest()
      table.set(grown)
      assert.notDeepEqual(table.digest(), digest)
      const differing = table.differing(before)
      assert.equal(differing.length, 1)
      assert.ok(table.in(new Set(differing)).includes(grown))
    }),
  )
})

test('a changed hash of records changes the digest; of frozen streams only the fork counts', () => {
  fc.assert(
    fc.property(heads, heads, (one, two) => {
      const records = 's'.repeat(32) as Hash
      assert.notDeepEqual(tableOf([one]).digest(), tableOf([{ ...one, records }]).digest())
      const frozen = { ...one, frozen: true }
      assert.notDeepEqual(tableOf([one]).digest(), tableOf([frozen]).digest())
      assert.deepEqual(tableOf([frozen]).digest(), tableOf([{ ...two, key: one.key, frozen: true }]).digest())
    }),
  )
})

test('an older row does not take newer events back, but what it says was removed counts', () => {
  fc.assert(
    fc.property(heads, (row) => {
      const table = tableOf([
        { ...row, count: row.count + 1 },
        { ...row, pruned: 3 },
      ])
      const [kept] = [...table.all()]
      assert.deepEqual([kept?.count, kept?.pruned], [row.count + 1, 3])
    }),
  )
})
