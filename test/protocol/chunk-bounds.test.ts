import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { ByteReader, decodeChunk, type Hash, heads, MalformedBytes } from '../../src/protocol/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { uvarint } from './naive.ts'
import { type RawEvent, rawRecord } from './naive-payload.ts'

const key = KeyPair.generate(systemRandom)
const stream = { node: key.publicKey, number: 0 }
const zeros = Buffer.alloc(32).toString('latin1') as Hash
const head = heads.sign({ topic: 't', stream, count: 1, lamport: 0, hash: zeros, checkpoint: false, time: 1 }, key)
/** A head whose signature is invalid: what is refused for another reason was refused before the signature is verified. */
const unsigned = Buffer.concat([head.subarray(0, -1), Buffer.of((head.at(-1) as number) ^ 1)])

const labels = Buffer.from('\x01a\x00', 'latin1')
const noLabels = Buffer.from('\x01?\x00', 'latin1')
const tiny: RawEvent = { labels: noLabels, payload: Buffer.from('?') }
const attackBytes = 11 * 1024 * 1024

interface Parts {
  readonly signedHead?: Uint8Array
  readonly headLength?: number
  readonly count?: number
}

/** A chunk of these records, with an invalid signature unless a head is given. */
function chunkOf(records: readonly Uint8Array[], { signedHead = unsigned, headLength, count }: Parts = {}): Buffer {
  return Buffer.concat([
    Buffer.from('shoal/chunk/1\0'),
    uvarint(headLength ?? signedHead.length),
    signedHead,
    uvarint(count ?? records.length),
    ...records,
  ])
}

/** A record with bytes in place of the events in its head, and of what follows it. */
function rawFrame(count: number, events: Uint8Array, rest: Uint8Array, headLength?: number): Buffer {
  const start = Buffer.concat([uvarint(0), uvarint(count)])
  return Buffer.concat([uvarint(headLength ?? start.length + events.length), start, events, rest])
}

const readMethods = ['byte', 'uvarint', 'skip', 'skipText'] as const

/** The number of calls of the methods that read bytes, while some work is done. */
function readsDuring(work: () => void): number {
  const originals = readMethods.map((name) => ByteReader.prototype[name])
  let reads = 0
  for (const [i, name] of readMethods.entries())
    Object.assign(ByteReader.prototype, {
      [name](this: ByteReader, ...given: unknown[]) {
        reads++
        return Reflect.apply(originals[i] as () => unknown, this, given)
      },
    })
  try {
    work()
    return reads
  } finally {
    for (const [i, name] of readMethods.entries()) Object.assign(ByteReader.prototype, { [name]: originals[i] })
  }
}

/** Reads of a head and the start of a frame; an attack has a thousand events or more. */
const few = 100

/** Many times longer than a refusal takes, and much shorter than reading all bytes of an attack in a loop. */
const maxMs = 100

/** Asserts that a chunk is refused for a reason after at most some reads, and quickly. */
function assertRefused(chunk: Uint8Array, message: RegExp, maxReads: number): void {
  const refuse = (): void =>
    assert.throws(
      () => decodeChunk(chunk),
      (error) => error instanceof MalformedBytes && message.test(error.message),
      String(message),
    )
  const reads = readsDuring(refuse)
  assert.ok(reads <= maxReads, `${message}: ${reads} reads`)
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now()
    refuse()
    return performance.now() - start
  })
  assert.ok(Math.min(...times) < maxMs, `${message}: ${times.map((ms) => ms.toFixed(1)).join(', ')} ms`)
}

test('a chunk of 11 MB of tiny events is refused at the event that is too many', () => {
  const full = rawRecord(
    Array.from({ length: format.eventsPerFrame }, () => ({ ...tiny })).map((event, i) => ({ ...event, lamport: i })),
  )
  const records = Array.from({ length: Math.floor(attackBytes / full.length) }, () => full)
  assert.ok(records.length < format.eventsPerChunk)
  assertRefused(chunkOf(records), /too many events/, few)
  assertRefused(chunkOf([full, full]), /too many events/, 16 * format.eventsPerFrame)
  const one = rawRecord([tiny])
  const frames = Array.from({ length: format.eventsPerChunk }, () => one)
  assertRefused(chunkOf([rawRecord([tiny, tiny]), ...frames.slice(1)]), /too many events/, few)
  assertRefused(chunkOf([...frames, one]), /no frames or too many/, few)
})

test('a number of frames that the bytes of a chunk cannot hold is refused before a frame is read', () => {
  const record = rawRecord([tiny])
  for (const count of [2, format.eventsPerChunk])
    assertRefused(chunkOf([record], { count }), /more frames than its bytes can hold/, few)
  for (const count of [0, format.eventsPerChunk + 1, Number.MAX_SAFE_INTEGER])
    assertRefused(chunkOf([record], { count }), /no frames or too many/, few)
})

test('a number of events that the bytes of a frame cannot hold is refused before an event is read', () => {
  const events = Buffer.from('\x00\x01\x01a\x00', 'latin1')
  const rest = Buffer.from('\x00................\x011', 'latin1')
  const message = /more events than its bytes can hold/
  assertRefused(chunkOf([rawFrame(2, events, rest)]), message, few)
  assertRefused(chunkOf([rawFrame(format.eventsPerFrame, events, Buffer.alloc(attackBytes))]), message, few)
  const many = Buffer.concat(Array.from({ length: 1000 }, () => events))
  assertRefused(chunkOf([rawFrame(1000, many, rest)]), message, few)
  for (const count of [0, format.eventsPerFrame + 1, Number.MAX_SAFE_INTEGER])
    assertRefused(chunkOf([rawFrame(count, events, Buffer.alloc(attackBytes))]), /1 to 1024 events/, few)
})

test('a frame whose head has another length than it says is refused at the first event beyond', () => {
  const event = Buffer.concat([Buffer.from('\x00\x01\x01a\x01', 'latin1'), uvarint(1000), Buffer.alloc(1000, 'x')])
  const events = Buffer.concat(Array.from({ length: 1000 }, () => event))
  const wrong = /wrong length/
  for (const length of [6000, events.length + 2, events.length + 4])
    assertRefused(chunkOf([rawFrame(1000, events, Buffer.alloc(attackBytes - events.length), length)]), wrong, 16_000)
  assertRefused(chunkOf([rawFrame(1000, events, Buffer.alloc(1000), 6000)]), wrong, few)
  const ends = /unexpected end/
  for (const length of [attackBytes, Number.MAX_SAFE_INTEGER])
    assertRefused(chunkOf([rawFrame(1000, events, Buffer.alloc(1000), length)]), ends, few)
})

test('too many tags, and app IDs, tags and payloads that are too long, are refused before they are read', () => {
  const event = (...parts: Uint8Array[]): Buffer => Buffer.concat([Buffer.of(0, 1), ...parts])
  const filler = Buffer.alloc(attackBytes, 1)
  const appId = Buffer.from('\x01a', 'latin1')
  const refused = (event: Buffer, message: RegExp): void =>
    assertRefused(chunkOf([rawFrame(1, Buffer.concat([event, filler]), filler.subarray(0, 100))]), message, few)
  for (const count of [format.tagsPerEvent + 1, Number.MAX_SAFE_INTEGER])
    refused(event(appId, uvarint(count)), /too many tags/)
  for (const length of [0, format.appIdBytes + 1, Number.MAX_SAFE_INTEGER])
    refused(event(uvarint(length)), /app ID is too long or empty/)
  for (const length of [0, format.tagBytes + 1, Number.MAX_SAFE_INTEGER])
    refused(event(appId, uvarint(1), uvarint(length)), /tag is too long or empty/)
  const salts = Buffer.alloc(17)
  const payload = (length: number): Buffer =>
    chunkOf([rawFrame(1, event(appId, uvarint(0)), Buffer.concat([salts, uvarint(length), filler]))])
  for (const length of [format.payloadBytes + 1, Number.MAX_SAFE_INTEGER])
    assertRefused(payload(length), /payload is too large/, few)
  assertRefused(
    chunkOf([
      rawFrame(1, event(appId, uvarint(0)), Buffer.concat([salts, uvarint(format.payloadBytes), Buffer.alloc(100)])),
    ]),
    /unexpected end/,
    few,
  )
})

test('a chunk that is too large, of another domain or with a malformed head is refused before its frames are read', () => {
  const records = [rawRecord([tiny])]
  assertRefused(Buffer.alloc(format.chunkBytes + 1), /too large/, 0)
  assertRefused(Buffer.alloc(attackBytes), /not a chunk/, few)
  const filler = [Buffer.alloc(attackBytes)]
  for (const headLength of [0, 10, unsigned.length - 1, unsigned.length + 1, attackBytes])
    assertRefused(chunkOf(filler, { headLength }), /separator|trailing bytes|unexpected end|flag/, few)
  assertRefused(chunkOf(records, { headLength: attackBytes }), /unexpected end/, few)
})

test('the signature is verified after the structure of all frames, and before the contents of events', () => {
  const good: RawEvent = { labels, payload: Buffer.from('1') }
  const twice = [good, { ...good, lamport: 0 }]
  const unordered = Buffer.from('\x01a\x02\x01b\x01a', 'latin1')
  assertRefused(chunkOf([rawRecord(twice)]), /not ascending/, few)
  assertRefused(chunkOf([rawRecord([good]), Buffer.alloc(100)]), /1 to 1024/, few)
  assertRefused(Buffer.concat([chunkOf([rawRecord([good])]), Buffer.of(0)]), /trailing bytes/, few)
  for (const [event, message] of [
    [{ ...good, payload: Buffer.from('?') }, /invalid payload/],
    [{ ...good, labels: noLabels }, /invalid app ID/],
    [{ ...good, labels: unordered }, /not in order/],
  ] as const) {
    assertRefused(chunkOf([rawRecord([event])]), /signature/, few)
    assertRefused(chunkOf([rawRecord([event])], { signedHead: head }), message, few)
  }
  assert.equal(decodeChunk(chunkOf([rawRecord([good])], { signedHead: head })).first, 0)
})

test('what the caller checks is checked before the signature', () => {
  const chunk = chunkOf([rawRecord([tiny])])
  const refuse = (): never => {
    throw new MalformedBytes('by the caller')
  }
  assert.throws(() => decodeChunk(chunk, refuse), /by the caller/)
})

test('a signed chunk with a payload that is nested millions of levels deep, or all whitespace, is refused quickly', () => {
  for (const payload of [
    '['.repeat(format.payloadBytes),
    `{"a":`.repeat(format.payloadBytes / 5),
    `[${'\n'.repeat(format.payloadBytes - 1)}`,
  ])
    assertRefused(
      chunkOf([rawRecord([{ labels, payload: Buffer.from(payload) }])], { signedHead: head }),
      /invalid payload/,
      few,
    )
  const invalid = Buffer.concat([Buffer.from('"'), Buffer.alloc(format.payloadBytes - 2, 'ü'), Buffer.of(0xff)])
  assertRefused(chunkOf([rawRecord([{ labels, payload: invalid }])], { signedHead: head }), /not UTF-8/, few)
})
