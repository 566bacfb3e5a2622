import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MultiaddrConnection } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { limits } from '../../../src/base/limits.ts'
import { InboundLimit } from '../../../src/swarm/host/inbound-limit.ts'

function connectionFrom(address: string): MultiaddrConnection {
  return Object.assign(new EventTarget(), { remoteAddr: multiaddr(address) }) as unknown as MultiaddrConnection
}

test('connections from one address have a limit, which closed ones free; others and the own machine do not count', () => {
  const limit = new InboundLimit()
  const most = limits.swarmConnectionsPerAddress
  const open = Array.from({ length: most }, (_, i) => connectionFrom(`/ip4/10.0.0.7/tcp/${5000 + i}`))
  assert.ok(open.every((connection) => limit.admit(connection)))
  assert.equal(limit.admit(connectionFrom('/ip4/10.0.0.7/tcp/9000')), false)
  assert.equal(limit.admit(connectionFrom('/ip4/10.0.0.8/tcp/9000')), true)
  for (let i = 0; i <= most; i++) assert.equal(limit.admit(connectionFrom(`/ip4/127.0.0.1/tcp/${5000 + i}`)), true)
  open[0]?.dispatchEvent(new Event('close'))
  assert.equal(limit.admit(connectionFrom('/ip4/10.0.0.7/tcp/9000')), true)
  for (const connection of open.slice(1)) connection.dispatchEvent(new Event('close'))
  assert.equal(limit.size, 2)
})
