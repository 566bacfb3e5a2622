import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { ByteWriter, MalformedBytes } from '../../src/protocol/index.ts'
import { decodeMessage } from '../../src/swarm/index.ts'
import {
  blockCloseCodes,
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
  isExchangeMessage,
} from '../../src/sync/index.ts'
import * as fc from '../support/property.ts'

const cid = fc.uint8Array({ minLength: 1, maxLength: limits.cidBytes }).map((array) => Buffer.from(array))
const cids = fc.array(cid, { maxLength: 8 })
const listKinds = ['wantBlocks', 'haveBlocks', 'blocksNotHere', 'cancelBlocks'] as const

const messages: fc.Arbitrary<ExchangeMessage> = fc.oneof(
  fc.tuple(fc.constantFrom(...listKinds), cids).map(([is, list]) => ({ is, cids: list })),
  fc
    .tuple(cid, fc.uint8Array({ maxLength: 300 }))
    .map(([identifier, bytes]) => ({ is: 'block' as const, cid: identifier, bytes: Buffer.from(bytes) })),
)

test('a decoded message about blocks equals the encoded one, and fields of a later version are skipped', () => {
  fc.assert(
    fc.property(messages, fc.uint8Array({ maxLength: 20 }), (message, more) => {
      const encoded = encodeExchangeMessage(message)
      assert.ok(isExchangeMessage(encoded))
      assert.deepEqual(decodeExchangeMessage(encoded), message)
      assert.deepEqual(decodeExchangeMessage(Buffer.concat([encoded, more])), message)
    }),
  )
})

test('any bytes are a message about blocks, or malformed', () => {
  const altered = fc.tuple(messages, fc.nat(), fc.nat({ max: 255 }), fc.nat()).map(([message, at, byte, end]) => {
    const encoded = Buffer.from(encodeExchangeMessage(message))
    encoded[at % encoded.length] = byte
    return encoded.subarray(0, (end % encoded.length) + 1)
  })
  fc.assert(
    fc.property(fc.oneof(altered, fc.uint8Array({ maxLength: 300 })), (input) => {
      try {
        decodeExchangeMessage(input)
      } catch (error) {
        assert.ok(error instanceof MalformedBytes, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})

test('a message about blocks that ends in the middle of any field is malformed', () => {
  const samples: ExchangeMessage[] = [
    ...listKinds.map((is) => ({ is, cids: [Buffer.alloc(36, 1), Buffer.alloc(36, 2)] })),
    { is: 'block', cid: Buffer.alloc(36, 1), bytes: Buffer.alloc(300, 3) },
  ]
  for (const message of samples) {
    const encoded = encodeExchangeMessage(message)
    for (let end = 0; end < encoded.length; end++)
      assert.throws(() => decodeExchangeMessage(encoded.subarray(0, end)), MalformedBytes, `${message.is} to ${end}`)
  }
})

test('the kinds 32 to 39 belong to the exchange of blocks, and those without a meaning are malformed', () => {
  for (let kind = 0; kind < 256; kind++) {
    assert.equal(isExchangeMessage(Buffer.of(kind, 0)), kind >= 32 && kind <= 39)
    if (kind < 32 || kind > 36) assert.throws(() => decodeExchangeMessage(Buffer.of(kind, 0)), MalformedBytes)
    if (kind >= 32 && kind <= 39) assert.throws(() => decodeMessage(Buffer.of(kind, 0)), MalformedBytes)
  }
  assert.equal(isExchangeMessage(Buffer.of()), false)
})

test('the lengths of lists, content identifiers and blocks are checked before memory is taken', () => {
  const start = (kind: number): ByteWriter => new ByteWriter().byte(kind)
  for (const kind of [32, 33, 34, 36]) {
    assert.throws(() => decodeExchangeMessage(start(kind).uvarint(2 ** 40).written), /a list is too long/)
    const claimed = start(kind).uvarint(limits.cidsPerMessage)
    assert.throws(() => decodeExchangeMessage(claimed.written), /a list is too long/)
    const tooMany = start(kind).uvarint(limits.cidsPerMessage + 1)
    assert.throws(() => decodeExchangeMessage(tooMany.bytes(Buffer.alloc(600, 1)).written), /a list is too long/)
    const longCid = start(kind)
      .uvarint(1)
      .uvarint(limits.cidBytes + 1)
      .byte(0)
    assert.throws(() => decodeExchangeMessage(longCid.written), /a content identifier has another length/)
    const noCid = start(kind).uvarint(1).uvarint(0).byte(0)
    assert.throws(() => decodeExchangeMessage(noCid.written), /a content identifier has another length/)
  }
  const block = start(35)
    .uvarint(1)
    .byte(7)
    .uvarint(format.fileBlockBytes + 1)
  assert.throws(() => decodeExchangeMessage(block.written), /a block is too large/)
  assert.throws(
    () => decodeExchangeMessage(Buffer.alloc(limits.exchangeMessageBytes + 1, 35)),
    /a message is too large/,
  )
})

test('the largest block fits into a message', () => {
  const message = {
    is: 'block',
    cid: Buffer.alloc(limits.cidBytes, 1),
    bytes: Buffer.alloc(format.fileBlockBytes, 2),
  } as const
  assert.deepEqual(decodeExchangeMessage(encodeExchangeMessage(message)), message)
})

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
const vectors = JSON.parse(
  /^### Test vectors of the exchange of blocks$[\s\S]*?^```json\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '',
) as Readonly<Record<string, string>>

test('messages about blocks match the test vectors of the protocol', () => {
  const bytes = Buffer.from(vectors['block'] ?? '', 'hex')
  const identifier = Buffer.from(vectors['cid'] ?? '', 'hex')
  assert.ok(bytes.length > 0 && identifier.length === 36)
  for (const is of listKinds) {
    const encoded = Buffer.from(vectors[`${is}Message`] ?? '', 'hex')
    assert.deepEqual(encodeExchangeMessage({ is, cids: [identifier] }), encoded)
    assert.deepEqual(decodeExchangeMessage(encoded), { is, cids: [identifier] })
  }
  const encoded = Buffer.from(vectors['blockMessage'] ?? '', 'hex')
  assert.deepEqual(encodeExchangeMessage({ is: 'block', cid: identifier, bytes }), encoded)
  assert.deepEqual(decodeExchangeMessage(encoded), { is: 'block', cid: identifier, bytes })
})

test('the close codes are those of the protocol', () => {
  assert.deepEqual(blockCloseCodes, { badBlock: 32, tooManyBlockRequests: 33, unaskedBlocks: 34 })
  for (const code of Object.values(blockCloseCodes)) assert.match(page, new RegExp(`\\b${code} `))
})
