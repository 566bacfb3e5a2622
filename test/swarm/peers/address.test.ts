import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTcpAddress } from '../../../src/swarm/peers/address.ts'
import * as fc from '../../support/property.ts'

test('an address has one form, and says how far it reaches', () => {
  const cases: [string, string, string][] = [
    ['/ip4/10.0.0.2/tcp/4001', '/ip4/10.0.0.2/tcp/4001', 'network'],
    ['/ip4/10.0.0.2/tcp/04001', '/ip4/10.0.0.2/tcp/4001', 'network'],
    ['/ip4/127.1.2.3/tcp/1', '/ip4/127.1.2.3/tcp/1', 'local'],
    ['/ip4/169.254.1.1/tcp/1', '/ip4/169.254.1.1/tcp/1', 'link'],
    ['/ip6/0:0:0:0:0:0:0:1/tcp/1', '/ip6/::1/tcp/1', 'local'],
    ['/ip6/FD00:0::00ab/tcp/1', '/ip6/fd00::ab/tcp/1', 'network'],
    ['/ip6zone/eth0/ip6/fe80::1/tcp/1', '/ip6zone/eth0/ip6/fe80::1/tcp/1', 'link'],
    ['/dns4/Host.Example/tcp/1', '/dns4/host.example/tcp/1', 'network'],
    ['/dns/localhost/tcp/1', '/dns/localhost/tcp/1', 'local'],
    ['/dns/a.localhost./tcp/1', '/dns/a.localhost./tcp/1', 'local'],
  ]
  for (const [given, text, reach] of cases) {
    const parsed = parseTcpAddress(given)
    assert.deepEqual([parsed?.text, parsed?.reach], [text, reach], given)
    assert.deepEqual(parseTcpAddress(text), parsed)
  }
})

test('what cannot be dialled has no address', () => {
  const bad = [
    '',
    '/ip4/10.0.0.2/tcp/4001/p2p/12D3KooW',
    '/ip4/10.0.0.2/udp/4001',
    '/ip4/010.0.0.2/tcp/4001',
    '/ip4/10.0.0.2/tcp/0',
    '/ip4/10.0.0.2/tcp/65536',
    '/ip4/0.0.0.0/tcp/1',
    '/ip4/224.0.0.1/tcp/1',
    '/ip4/255.255.255.255/tcp/1',
    '/ip4/::1/tcp/1',
    '/ip6/::/tcp/1',
    '/ip6/ff02::fb/tcp/1',
    '/ip6/fe80::1/tcp/1',
    '/ip6/fe80::1%eth0/tcp/1',
    '/ip6/::ffff:127.0.0.1/tcp/1',
    '/ip6/::ffff:7f00:1/tcp/1',
    '/ip6zone/eth0/ip6/fd00::1/tcp/1',
    '/ip6zone/eth0/ip4/10.0.0.1/tcp/1',
    '/dns4/-/tcp/1',
    '/dns4/a b/tcp/1',
    `/dns4/${'a'.repeat(300)}/tcp/1`,
  ]
  for (const text of bad) assert.equal(parseTcpAddress(text), undefined, text)
  fc.assert(fc.property(fc.string(), (text) => parseTcpAddress(text) === undefined))
})
