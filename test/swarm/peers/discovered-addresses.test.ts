import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { DiscoveredAddresses, type Discovery } from '../../../src/swarm/peers/index.ts'

const discovery = (port: number, isNew = true): Discovery => ({
  peer: 'p'.repeat(32),
  origin: 'Listen',
  address: `/ip4/10.0.0.1/tcp/${port}`,
  isNew,
})

test('published addresses are kept until they are gone, each once', () => {
  const addresses = new DiscoveredAddresses()
  for (const port of [1, 2, 1, 3]) addresses.take(discovery(port))
  addresses.take(discovery(2, false))
  assert.deepEqual([...addresses.all()], [discovery(1), discovery(3)])
})

test('the number of published addresses that are kept is bounded: the newest stay', () => {
  const addresses = new DiscoveredAddresses()
  for (let port = 1; port <= limits.discoveredAddresses + 10; port++) addresses.take(discovery(port))
  const kept = [...addresses.all()]
  assert.equal(kept.length, limits.discoveredAddresses)
  assert.deepEqual(kept[0], discovery(11))
})
