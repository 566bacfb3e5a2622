import { equal, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { bodyCost, connectionMemoryShare, Holding, MemoryAccount } from '../../src/client-memory/account.ts'
import { defaultMemoryLimit, parseMemoryLimit } from '../../src/client-memory/memory-limit.ts'
import * as fc from '../support/property.ts'

const [kib, mib] = [1024, 1024 * 1024]

test('the used memory of an account is the sum of its holders after any charges, refunds and closes', () => {
  const steps = fc.array(
    fc.record({
      holder: fc.nat(4),
      what: fc.constantFrom('charge', 'refund', 'close'),
      bytes: fc.oneof(fc.nat(5000), fc.nat(300 * kib)),
    }),
  )
  fc.assert(
    fc.property(steps, (list) => {
      const account = MemoryAccount.create(mib)
      const holders = Array.from({ length: 5 }, () => new Holding(account, 512 * kib))
      for (const { holder, what, bytes } of list) {
        const holding = holders[holder] as Holding
        const before = holding.bytes
        if (what === 'close') holding.close()
        else if (what === 'refund') holding.refund(Math.min(bytes, before))
        else equal(holding.charge(bytes) ? before + bytes : before, holding.bytes)
        ok(holding.bytes <= 512 * kib)
        ok(account.usedBytes <= account.limitBytes)
        equal(
          account.usedBytes,
          holders.reduce((sum, held) => sum + Math.ceil(held.bytes / kib) * kib, 0),
        )
      }
      for (const holding of holders) holding.close()
      equal(account.usedBytes, 0)
    }),
  )
})

test('a closed holder cannot be charged, and its refunds are ignored', () => {
  const account = MemoryAccount.create(mib)
  const holding = new Holding(account)
  ok(holding.charge(5000))
  holding.close()
  equal(holding.charge(1), false)
  holding.refund(5000)
  equal(account.usedBytes, 0)
})

test('large holders cannot use the reserve of small ones', () => {
  const account = MemoryAccount.create(16 * mib)
  const large = new Holding(account)
  equal(large.charge(11 * mib), false)
  ok(large.charge(10 * mib))
  const alsoLarge = new Holding(account)
  equal(alsoLarge.charge(mib), false)
  const small = new Holding(account)
  ok(small.charge(limits.smallHoldingBytes))
  equal(small.charge(1), false)
})

test('each thread has its own counter, which is reset when the thread has ended', () => {
  const main = MemoryAccount.create(mib)
  const [reader, other] = [0, 3].map((index) => new MemoryAccount(main.memory, { reader: index })) as [
    MemoryAccount,
    MemoryAccount,
  ]
  ok(new Holding(main).charge(100 * kib))
  ok(new Holding(reader).charge(200 * kib))
  ok(new Holding(other).charge(50 * kib))
  equal(main.usedBytes, 350 * kib)
  main.refundAll({ reader: 0 })
  equal(other.usedBytes, 150 * kib)
  throws(() => new MemoryAccount(main.memory, { reader: 4 }), /has a counter/)
})

test('refunding more than was charged fails an assertion', () => {
  const holding = new Holding(MemoryAccount.create(mib))
  ok(holding.charge(10))
  throws(() => holding.refund(11), /refunds no more than it was charged/)
})

test('the share of a connection is enough for a request of maximum size', () => {
  const account = MemoryAccount.create(limits.clientMemory)
  const holding = new Holding(account, connectionMemoryShare(account))
  ok(holding.charge(limits.connectionBytes))
  ok(holding.charge(bodyCost(limits.bodyBytes)))
  equal(holding.charge(account.limitBytes * 0.6), false)
})

test('1,024 idle subscriptions fit into the memory limit of a small machine', () => {
  const account = MemoryAccount.create(defaultMemoryLimit(512 * mib, 4096 * mib))
  equal(account.limitBytes, 128 * mib)
  for (let i = 0; i < limits.openQueries; i++) {
    ok(new Holding(account).charge(limits.connectionBytes), `connection ${i}`)
    ok(new Holding(account).charge(limits.openQueryBytes), `subscription ${i}`)
  }
})

test('the default memory limit is at most 512 MiB, a quarter of the process memory and half of the heap', () => {
  equal(defaultMemoryLimit(24 * 1024 * mib, 4096 * mib), 512 * mib)
  equal(defaultMemoryLimit(512 * mib, 4096 * mib), 128 * mib)
  equal(defaultMemoryLimit(24 * 1024 * mib, 256 * mib), 128 * mib)
  equal(defaultMemoryLimit(mib, mib), limits.minClientMemory)
})

test('a memory limit is a number with an optional unit, and anything else is refused', () => {
  const sizes = { '256MiB': 256, '256M': 256, '256mb': 256, '1g': 1024, '65536k': 64, '67108864': 64, '67108864b': 64 }
  for (const [text, expected] of Object.entries(sizes)) equal(parseMemoryLimit(text), expected * mib, text)
  for (const text of ['', '1MiB', '-5M', '1.5G', '256 M', 'M', '999999G', '256MiBB', 'all'])
    throws(() => parseMemoryLimit(text), /--memory-limit: '.*' is not a size from 16MiB to 64GiB/, text)
})
