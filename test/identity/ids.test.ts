import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatStreamId,
  nodeIdOf,
  type PublicKey,
  parseNodeId,
  parsePeerId,
  parseStreamId,
  peerIdOf,
  publicKeyOf,
} from '../../src/identity/index.ts'
import * as fc from '../support/property.ts'

const key = (bytes: Iterable<number>) => Uint8Array.from(bytes) as PublicKey
const keys = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytes as PublicKey)
const counting = key(Array.from({ length: 32 }, (_, i) => i + 1))

test('node, stream and peer IDs match the specification', () => {
  assert.equal(nodeIdOf(counting), '.E61/.I4/kU70UgA1EsD2/2G2lEJ3VQM4FcP5/oS5m.')
  assert.equal(nodeIdOf(key(new Uint8Array(32))), '.'.repeat(43))
  assert.equal(
    formatStreamId({ node: nodeIdOf(counting), number: 12n }),
    '.E61/.I4/kU70UgA1EsD2/2G2lEJ3VQM4FcP5/oS5m.-12',
  )
  const node = parseNodeId('fWz91K/IelU3Ng8nWF9xQ/Sm3i3orkX/8A5mos5ExR6')
  const peer = '12D3KooWMYKNodABsgqNP1zTQD4b18MZTktKvGPZHVM5P5S579Dj'
  assert.equal(peerIdOf(publicKeyOf(node)), peer)
  assert.equal(nodeIdOf(parsePeerId(peer)), node)
})

test('a public key round-trips through its node ID and its peer ID', () => {
  fc.assert(
    fc.property(keys, (bytes) => {
      assert.deepEqual(publicKeyOf(parseNodeId(nodeIdOf(bytes))), bytes)
      assert.deepEqual(parsePeerId(peerIdOf(bytes)), bytes)
    }),
  )
})

test('node IDs sort like the bytes of their keys', () => {
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      const [x, y] = [nodeIdOf(a), nodeIdOf(b)]
      assert.equal(Math.sign(Buffer.compare(a, b)), x < y ? -1 : x > y ? 1 : 0)
    }),
  )
})

test('a node ID has exactly one canonical encoding', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 43, maxLength: 43, unit: fc.constantFrom(...'./0Az=+ ') }), (text) => {
      let parsed: string
      try {
        parsed = parseNodeId(text)
      } catch {
        return
      }
      assert.equal(nodeIdOf(publicKeyOf(parseNodeId(parsed))), text)
    }),
  )
  const spareBits = `${'.'.repeat(42)}/`
  for (const text of ['', '.', '.'.repeat(42), '.'.repeat(44), spareBits, 'é'.repeat(43)])
    assert.throws(() => parseNodeId(text), { code: 'ERR_INVALID_INPUT' }, text)
})

test('a stream ID is a node ID, a dash and an unsigned 64-bit number', () => {
  const node = nodeIdOf(counting)
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (number) => {
      assert.deepEqual(parseStreamId(formatStreamId({ node, number })), { node, number })
    }),
  )
  const wrong = [
    '',
    '-',
    node,
    `${node}-`,
    `-0`,
    `${node}-01`,
    `${node}-+1`,
    `${node}--1`,
    `${node}-1-1`,
    `${node}-18446744073709551616`,
    `${node}-1.0`,
    `x${node}-1`,
  ]
  for (const text of wrong) assert.throws(() => parseStreamId(text), { code: 'ERR_INVALID_INPUT' }, text)
})

test('a malformed peer ID, or one of another key type, is refused', () => {
  for (const text of [
    '',
    'rubbish!',
    'QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N',
    '12D3KooWMYKNodABsgqNP1zTQD4b18MZTktKvGPZHVM5P5S579D',
  ])
    assert.throws(() => parsePeerId(text), { code: 'ERR_INVALID_INPUT' }, text)
})
