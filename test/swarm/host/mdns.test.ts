import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../../src/identity/index.ts'
import { MalformedBytes } from '../../../src/protocol/index.ts'
import { announced, announcement, isQuery, query } from '../../../src/swarm/host/mdns/announcement.ts'
import { decodeDns, encodeDns, encodeName, encodeTexts, recordTypes } from '../../../src/swarm/host/mdns/dns-message.ts'
import { addressesOn } from '../../../src/swarm/host/mdns/interfaces.ts'
import { serviceName } from '../../../src/swarm/host/mdns/service-name.ts'
import * as fc from '../../support/property.ts'

// The sockets are tested in test/network: a unit test must not send to the network of the machine.

const service = serviceName(Buffer.alloc(32, 1), 'default-topic')
const peer = Buffer.from(new KeyPair(Buffer.alloc(32, 9)).publicKey).toString('latin1')

test('the service name differs with swarm key and topic, and does not contain the key', () => {
  const key = Buffer.from('00000000111111112222222233333333')
  const names = [serviceName(key, 'a'), serviceName(key, 'b'), serviceName(Buffer.alloc(32), 'a')]
  assert.equal(new Set(names).size, 3)
  assert.equal(serviceName(key, 'default-topic'), '_shoal-13c0d0607ae77d64c025._tcp.local')
  for (const name of names) assert.match(name, /^_shoal-[0-9a-f]{20}\._tcp\.local$/)
})

test('an announcement arrives with its addresses, in a packet that needs no fragments', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 40 }), (ips) => {
      const addresses = ips
        .filter((ip) => !ip.includes('.') || !ip.includes(':'))
        .map((ip) => `/${ip.includes(':') ? 'ip6' : 'ip4'}/${ip}/tcp/4001`)
      const bytes = encodeDns(announcement(service, { peer, addresses }))
      assert.ok(bytes.length <= 1400)
      const [found, ...others] = announced(decodeDns(bytes), service)
      assert.equal(others.length, 0)
      assert.equal(found?.peer, peer)
      assert.ok((found?.addresses.length ?? 0) >= Math.min(addresses.length, 12))
      assert.deepEqual(announced(decodeDns(bytes), serviceName(Buffer.alloc(32, 2), 'default-topic')), [])
    }),
  )
})

test('a query is recognised by its service', () => {
  const message = decodeDns(encodeDns(query(service)))
  assert.equal(isQuery(message, service), true)
  assert.equal(isQuery(message, '_other._tcp.local'), false)
  assert.equal(isQuery(decodeDns(encodeDns(announcement(service, { peer, addresses: [] }))), service), false)
})

test('names with compression and records of other kinds are read', () => {
  const texts = encodeTexts(['peer=12D3KooWSCsHPUNf', 'addr=/ip4/10.0.0.1/tcp/4001'])
  const plain = encodeDns({
    isResponse: true,
    questions: [],
    records: [{ name: 'Printer.local', type: 1, ttlSeconds: 4500, data: Buffer.of(10, 0, 0, 7) }],
  })
  // A second record, whose name is a label and a pointer to the name of the first one.
  const second = Buffer.concat([
    Buffer.from('\x03abc\xc0\x0c', 'latin1'),
    Buffer.from('0010800100000078', 'hex'),
    Buffer.of(0, texts.length),
    texts,
  ])
  plain.writeUInt16BE(2, 6)
  const { records } = decodeDns(Buffer.concat([plain, second]))
  assert.deepEqual(
    records.map(({ name, type, ttlSeconds }) => [name, type, ttlSeconds]),
    [
      ['printer.local', 1, 4500],
      ['abc.printer.local', recordTypes.txt, 120],
    ],
  )
})

test('malformed announcements are skipped', () => {
  const id = 'peer=12D3KooWSCsHPUNfFXLmEYTkm7ZLL1EsXbEJ1kJyfJ9fLrsZ1Psu'
  for (const texts of [[], ['peer=nonsense'], [id, 'addr=nonsense'], ['addr=/ip4/10.0.0.1/tcp/4001']]) {
    const record = { name: `x.${service}`, type: recordTypes.txt, ttlSeconds: 120, data: encodeTexts(texts) }
    assert.deepEqual(announced({ isResponse: true, questions: [], records: [record] }, service), [])
  }
  const cut = { name: `x.${service}`, type: recordTypes.txt, ttlSeconds: 120, data: Buffer.of(200, 1, 2) }
  assert.deepEqual(announced({ isResponse: true, questions: [], records: [cut] }, service), [])
})

test('a packet of arbitrary bytes is read or refused as malformed, and ends', () => {
  const good = encodeDns(announcement(service, { peer, addresses: ['/ip4/10.0.0.1/tcp/4001'] }))
  const damaged = fc
    .tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(good.length))
    .map(([at, value, end]) => {
      const bytes = Buffer.from(good)
      bytes[at] = value
      return bytes.subarray(0, end)
    })
  const pointers = fc.array(fc.constantFrom(0xc0, 0x0c, 0x0d, 0x0e, 0x01, 0x00), { maxLength: 200 }).map((bytes) => {
    const header = Buffer.from('000084000002000200000000', 'hex')
    return Buffer.concat([header, Buffer.from(bytes)])
  })
  const any = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
  fc.assert(
    fc.property(fc.oneof(damaged, pointers, any), (bytes) => {
      try {
        assert.ok(Array.isArray(announced(decodeDns(bytes), service)))
      } catch (error) {
        assert.ok(error instanceof MalformedBytes, String(error))
      }
    }),
  )
})

test('names that are too long or point forward are refused', () => {
  const header = Buffer.from('000000000001000000000000', 'hex')
  for (const name of [
    encodeName(Array(10).fill('a'.repeat(60)).join('.')),
    Buffer.of(0xc0, 0x0c),
    Buffer.of(0xc0, 0x20),
    Buffer.of(0x70, 1),
  ])
    assert.throws(() => decodeDns(Buffer.concat([header, name, Buffer.alloc(4)])), MalformedBytes)
})

test('on an interface only its own addresses are announced', () => {
  const eth0 = { name: 'eth0', ip4: ['10.0.0.1'], ip6: ['fd00::1', 'fe80::1'] }
  const listening = [
    '/ip4/127.0.0.1/tcp/4001',
    '/ip4/10.0.0.1/tcp/4001',
    '/ip4/10.9.0.1/tcp/4001',
    '/ip6/fd00::1/tcp/4001',
  ]
  assert.deepEqual(addressesOn(eth0, listening), ['/ip4/10.0.0.1/tcp/4001', '/ip6/fd00::1/tcp/4001'])
})
