import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { KeyPair, type PublicKey } from '../../src/identity/index.ts'
import {
  ByteReader,
  decodeChunk,
  encodeChunk,
  genesis,
  type Hash,
  hashAfter,
  heads,
  pruneRecords,
  readFrame,
  redactionRecords,
  saltsOf,
  withoutPayload,
} from '../../src/protocol/index.ts'
import { recordsHash, verifyEvidence } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { frameOf } from '../support/events.ts'
import { type NaiveEvent, naiveEvidence, naiveFrame } from './naive.ts'

interface Vectors extends Record<string, unknown> {
  topic: string
  number: number
  first: number
  salts: string[]
  events: NaiveEvent[]
  head: { count: number; lamport: number; checkpoint: boolean; time: number }
  prune: { count: number; lamport: number; time: number }
  redaction: { ranges: { first: number; count: number }[]; time: number }
  recordsCount: number
  nextEvents: NaiveEvent[]
  nextHead: { count: number; lamport: number; checkpoint: boolean; time: number }
  forkEvents: NaiveEvent[]
  forkHead: { count: number; lamport: number; checkpoint: boolean; time: number }
}

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
const vectors = JSON.parse(blocks.find((text) => text.includes('"genesis"')) ?? '') as Vectors
const bytes = (name: string) => Buffer.from(String(vectors[name]), 'hex')
const hash = (name: string) => bytes(name).toString('latin1') as Hash
const hex = (value: Uint8Array | string) =>
  (typeof value === 'string' ? Buffer.from(value, 'latin1') : Buffer.from(value)).toString('hex')

const key = new KeyPair(bytes('privateKey'))
const stream = { node: key.publicKey, number: vectors.number }
const { topic } = vectors

test('genesis hash and salts match the test vectors of the protocol', () => {
  assert.equal(hex(key.publicKey), vectors['node'])
  assert.equal(hex(genesis(topic, stream)), vectors['genesis'])
  assert.equal(hex(genesis(topic, stream, 'imported')), vectors['importedGenesis'])
  assert.equal(hex(saltsOf(bytes('seed'), 2)), vectors.salts.join(''))
})

test('frame, hash chain and redacted payload match the test vectors of the protocol', () => {
  const made = frameOf(genesis(topic, stream), vectors.first, vectors.events, bytes('seed'))
  assert.equal(hex(made.record), vectors['record'])
  assert.equal(hex(made.hash), vectors['hash'])
  const frame = readFrame(new ByteReader(bytes('record')))
  assert.equal(hex(hashAfter(frame, hash('genesis'))), vectors['hash'])
  const removed = withoutPayload(frame, 0)
  assert.equal(hex(removed), vectors['recordWithoutFirstPayload'])
  assert.equal(hex(hashAfter(readFrame(new ByteReader(removed)), hash('genesis'))), vectors['hash'])
})

test('signed heads, prune and redaction records match the test vectors of the protocol', () => {
  const head = { topic, stream, ...vectors.head, hash: hash('hash') }
  assert.equal(hex(heads.sign(head, key)), `${String(vectors['headBytes'])}${String(vectors['headSignature'])}`)
  assert.deepEqual(heads.verify(heads.sign(head, key)), head)
  const { count, lamport } = vectors.prune
  const prune = { topic, stream, count, hash: hash('hash'), lamport, time: vectors.prune.time }
  assert.equal(
    hex(pruneRecords.sign(prune, key)),
    `${String(vectors['pruneBytes'])}${String(vectors['pruneSignature'])}`,
  )
  const redaction = { topic, stream, ...vectors.redaction }
  assert.equal(
    hex(redactionRecords.sign(redaction, key)),
    `${String(vectors['redactionBytes'])}${String(vectors['redactionSignature'])}`,
  )
})

test('the hash of the records matches the test vectors of the protocol', () => {
  const position = { key: stream, pruned: vectors.prune.count, count: vectors.recordsCount }
  assert.equal(hex(recordsHash(topic, position, vectors.redaction.ranges)), vectors['recordsHash'])
})

test('a chunk matches the test vectors of the protocol', () => {
  const signedHead = Buffer.concat([bytes('headBytes'), bytes('headSignature')])
  assert.equal(hex(encodeChunk([bytes('record')], signedHead)), vectors['chunk'])
  const { frames, first, head } = decodeChunk(bytes('chunk'))
  const start = genesis(topic, { node: bytes('node') as Uint8Array as PublicKey, number: 0 })
  assert.equal(
    frames.reduce((hash, frame) => hashAfter(frame, hash), start),
    head.hash,
  )
  assert.deepEqual([first, head.count], [0, 2])
})

test('a chunk after an early checkpoint matches the test vectors, and a store that starts there accepts it', async () => {
  const made = frameOf(hash('hash'), vectors.head.count, vectors.nextEvents, bytes('nextSeed'))
  assert.equal(hex(made.record), vectors['nextRecord'])
  assert.equal(hex(made.hash), vectors['nextHash'])
  const head = heads.sign({ topic, stream, ...vectors.nextHead, hash: made.hash }, key)
  assert.equal(hex(head), `${String(vectors['nextHeadBytes'])}${String(vectors['nextHeadSignature'])}`)
  assert.equal(hex(encodeChunk([bytes('nextRecord')], head)), vectors['nextChunk'])
  const record = Buffer.concat([bytes('pruneBytes'), bytes('pruneSignature')])
  const checkpoint = Buffer.concat([bytes('headBytes'), bytes('headSignature')])
  const other = KeyPair.generate(systemRandom)
  for (const first of [undefined, bytes('chunk')]) {
    const store = new MemoryEventStore({ runtime: systemRuntime, topic, kind: 'live', key: other, now: () => 1.8e15 })
    if (first !== undefined) assert.deepEqual(await store.receive(first), { state: 'stored', count: 2 })
    await store.applyPrune(record, checkpoint)
    assert.deepEqual(await store.receive(bytes('nextChunk')), { state: 'stored', count: 3 })
  }
})

test('the evidence of a fork matches the test vectors, and a store that receives both branches makes it', async () => {
  const made = frameOf(hash('hash'), vectors.head.count, vectors.forkEvents, bytes('forkSeed'))
  assert.equal(hex(made.record), vectors['forkRecord'])
  assert.equal(hex(made.hash), vectors['forkHash'])
  const forkHead = heads.sign({ topic, stream, ...vectors.forkHead, hash: made.hash }, key)
  assert.equal(hex(forkHead), `${String(vectors['forkHeadBytes'])}${String(vectors['forkHeadSignature'])}`)
  const [checkpoint, nextHead] = ['head', 'nextHead'].map((name) =>
    Buffer.concat([bytes(`${name}Bytes`), bytes(`${name}Signature`)]),
  ) as [Buffer, Buffer]
  const stripped = (events: NaiveEvent[], seed: Buffer) =>
    naiveFrame(bytes('hash'), vectors.head.count, events, seed, [...events.keys()]).record
  const evidence = naiveEvidence(
    { signedHead: forkHead, records: [stripped(vectors.forkEvents, bytes('forkSeed'))] },
    { signedHead: nextHead, records: [stripped(vectors.nextEvents, bytes('nextSeed'))] },
    checkpoint,
  )
  assert.equal(hex(evidence), vectors['evidence'])
  const { common, ...proven } = verifyEvidence(evidence, { topic, kind: 'live' })
  assert.deepEqual([proven, common?.count], [{ stream }, vectors.head.count])
  const other = KeyPair.generate(systemRandom)
  const store = new MemoryEventStore({ runtime: systemRuntime, topic, kind: 'live', key: other, now: () => 1.8e15 })
  for (const chunk of [bytes('chunk'), bytes('nextChunk')]) await store.receive(chunk)
  const branch = encodeChunk([bytes('forkRecord')], forkHead)
  assert.deepEqual(await store.receive(branch), { state: 'forked', count: 3 })
  assert.equal(hex((await store.evidence(0)) as Uint8Array), vectors['evidence'])
})
