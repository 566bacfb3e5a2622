import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { ObservedAddresses } from '../../../src/swarm/peers/index.ts'

const nat = '/ip4/203.0.113.9/tcp/4001'

test('an address counts when two peers have reached this node there, unless it is known anyway', () => {
  const observed = new ObservedAddresses()
  observed.add('a', nat)
  observed.add('a', nat)
  assert.deepEqual(observed.without([]), [])
  observed.add('b', nat)
  assert.deepEqual(observed.without(['/ip4/10.0.0.1/tcp/4001']), [nat])
  assert.deepEqual(observed.without([nat]), [])
})

test('addresses of the machine itself, of a link, and malformed ones are not observed', () => {
  const observed = new ObservedAddresses()
  for (const text of ['/ip4/127.0.0.1/tcp/4001', '/ip4/169.254.1.1/tcp/4001', '/ip4/1.2.3.4/udp/4001', 'x'])
    for (const peer of ['a', 'b']) observed.add(peer, text)
  assert.deepEqual(observed.without([]), [])
})

test('observed addresses are bounded, and the oldest are dropped', () => {
  const observed = new ObservedAddresses()
  for (let i = 1; i <= limits.addressesPerNode + 1; i++)
    for (const peer of ['a', 'b']) observed.add(peer, `/ip4/203.0.113.${i}/tcp/4001`)
  const found = observed.without([])
  assert.equal(found.length, limits.addressesPerNode)
  assert.equal(found[0], '/ip4/203.0.113.2/tcp/4001')
})
