import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseNodeAddress } from '../../src/cli/client/node-address.ts'
import { KeyPair, nodeIdOf, peerIdOf } from '../../src/identity/index.ts'
import * as fc from '../support/property.ts'

const { publicKey } = new KeyPair(Buffer.alloc(32, 1))
const parse = (text: string) => parseNodeAddress(text, (path) => path === 'existing')
const port = (host: string, number = 4458, scheme?: string, node?: string) => ({ scheme, host, port: number, node })

test('every form of an address is understood', () => {
  const forms: [text: string, address: object][] = [
    ['press7', port('press7')],
    ['press7.local:4460', port('press7.local', 4460)],
    ['10.0.0.7', port('10.0.0.7')],
    ['10.0.0.7:80', port('10.0.0.7', 80)],
    ['::1', port('::1')],
    ['[::1]', port('::1')],
    ['[fe80::1]:4460', port('fe80::1', 4460)],
    ['http://localhost', port('localhost', 4458, 'http')],
    ['https://press7:4460/', port('press7', 4460, 'https')],
    ['HTTPS://press7', port('press7', 4458, 'https')],
    ['/ip4/10.0.0.7/tcp/4460', port('10.0.0.7', 4460)],
    ['/dns4/press7/tcp/4458', port('press7')],
    [`/ip6/::1/tcp/4458/p2p/${peerIdOf(publicKey)}`, port('::1', 4458, undefined, nodeIdOf(publicKey))],
    ['existing', { folder: 'existing' }],
    ['./data', { folder: './data' }],
    ['/var/lib/shoal', { folder: '/var/lib/shoal' }],
    ['data/', { folder: 'data/' }],
    ['.', { folder: '.' }],
  ]
  for (const [text, address] of forms) assert.deepEqual(parse(text), address, text)
})

test('a malformed address is refused', () => {
  const refused = [
    '',
    ' ',
    'a b',
    'press7:',
    'press7:x',
    'press7:0',
    'press7:65536',
    '[press7]',
    'user@press7',
    'http://',
    'https://press7/path',
    '/ip4/10.0.0.7/tcp/0',
    '/ip4/10.0.0.7/tcp/4458/p2p/nonsense',
  ]
  for (const text of refused)
    assert.throws(() => parse(text), { code: 'ERR_INVALID_INPUT', message: `cannot interpret ${text} as address` })
})

test('a text is an address, a folder or refused', () => {
  const holds = fc.property(fc.string({ unit: fc.constantFrom(...'a0.:/[]@ph2t'), maxLength: 20 }), (text) => {
    try {
      const address = parse(text)
      assert.ok('folder' in address || (address.host !== '' && address.port > 0 && address.port < 65_536))
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ERR_INVALID_INPUT')
    }
  })
  fc.assert(holds)
})
