import { createHash } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { isStorableTime } from '../base/timestamps.ts'
import { ByteWriter } from './bytes.ts'
import { saltLength, saltsOf } from './salts.ts'
import { type Hash, hashLength, sha256 } from './stream.ts'

/**
 * A frame: events of one stream that were committed together, and one link of its hash chain. Its record is stored and
 * sent. Its canonical encoding, which the chain hashes, is the head of the record and the payload hashes.
 */
const domain = 'shoal/frame/1\0'

/** How a record encodes its salts: one seed, or after a redaction a list of salts and payload hashes. */
export const secretKinds = { seed: 0, list: 1 } as const
export const secret = { redacted: 0, salt: 1 } as const

/** The parts of a frame that the hash chain covers, as offsets into its bytes. */
export interface Linkable {
  readonly bytes: Buffer
  readonly count: number
  /** Start and end of the head, which is hashed verbatim. */
  readonly head: readonly [number, number]
  /** Start and end of the payload text of each event; the start is -1 for a redacted payload. */
  readonly payloads: Int32Array
  readonly seed: Uint8Array | undefined
  /** Without a seed: the offset of each event's salt, or of the hash of its redacted payload. */
  readonly secretsAt: Int32Array
}

/** Consecutive events of a stream, as columns of offsets into the bytes that they were read from. */
export interface EventColumns {
  readonly bytes: Buffer
  readonly view: DataView
  readonly first: number
  readonly count: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  /** Start and end of the labels of each event. */
  readonly labels: Int32Array
  /** Start and end of the payload text of each event; the start is -1 for a redacted payload. */
  readonly payloads: Int32Array
}

/** A parsed frame. */
export interface Frame extends Linkable, EventColumns {
  /** Its times are lossy, see `legacyTimes`: the record cannot be encoded again from its parts. */
  readonly hasLegacyTimes: boolean
  /** Start and end of the whole record. */
  readonly record: readonly [number, number]
  /** Start and end of the seed, or of the list of salts and payload hashes. */
  readonly secrets: readonly [number, number]
}

const noSecrets = new Int32Array()

/** Builds frames, one after the other. It keeps references to what is added, which must not change until `finish`. */
export class FrameBuilder {
  #count = 0
  #size = 0
  readonly #sources: Buffer[] = []
  /** Of each event: start and end of its labels, start and end of its payload. */
  readonly #spans = new Int32Array(4 * format.eventsPerFrame)
  readonly #lamports = new Float64Array(format.eventsPerFrame)
  readonly #times = new Float64Array(format.eventsPerFrame)
  /** Start and end of each payload of the last finished frame. */
  readonly #payloads = new Int32Array(2 * format.eventsPerFrame)
  readonly #head = new ByteWriter(16 * 1024)
  #lastTime = -1
  #timeBytes: Buffer = Buffer.alloc(0)

  get count(): number {
    return this.#count
  }

  /** Bytes of labels and payloads added so far. */
  get size(): number {
    return this.#size
  }

  /** Adds an event whose labels and payload are ranges of `source`, given in `spans` from `at` on. */
  add(lamport: number, time: number, source: Buffer, spans: Int32Array, at: number): void {
    const labels = spans[at] as number
    const labelsEnd = spans[at + 1] as number
    const payload = spans[at + 2] as number
    const payloadEnd = spans[at + 3] as number
    const index = this.#count++
    assert(index < format.eventsPerFrame, 'a frame holds 1 to 1024 events')
    assert(payloadEnd > payload && labelsEnd > labels, 'an event has labels and a payload')
    assert(
      labels >= 0 && payload >= 0 && labelsEnd <= source.length && payloadEnd <= source.length,
      'labels and payload of an event are within its source',
    )
    this.#lamports[index] = lamport
    this.#times[index] = time
    this.#sources.push(source)
    this.#spans[4 * index] = labels
    this.#spans[4 * index + 1] = labelsEnd
    this.#spans[4 * index + 2] = payload
    this.#spans[4 * index + 3] = payloadEnd
    this.#size += labelsEnd - labels + payloadEnd - payload
  }

  /**
   * Writes the record of the frame and resets the builder. The result is valid until the next frame is finished or the
   * record changes.
   */
  finish(first: number, seed: Uint8Array, record: ByteWriter): Linkable {
    const count = this.#count
    const spans = this.#spans
    const payloads = this.#payloads
    const written = this.#writeHead(first)
    record.uvarint(written.length)
    const head = [record.length, record.length + written.length] as const
    record.bytes(written).byte(secretKinds.seed).bytes(seed)
    for (let i = 0; i < count; i++) record.uvarint((spans[4 * i + 3] as number) - (spans[4 * i + 2] as number))
    for (let i = 0; i < count; i++) {
      payloads[2 * i] = record.length
      record.bytes(this.#sources[i] as Buffer, spans[4 * i + 2], spans[4 * i + 3])
      payloads[2 * i + 1] = record.length
    }
    this.clear()
    return { bytes: record.written, count, head, payloads, secretsAt: noSecrets, seed }
  }

  clear(): void {
    this.#count = 0
    this.#size = 0
    this.#sources.length = 0
  }

  #writeHead(first: number): Buffer {
    const count = this.#count
    assert(count > 0, 'a frame holds 1 to 1024 events')
    const head = this.#head.clear().uvarint(first).uvarint(count)
    const spans = this.#spans
    for (let i = 0; i < count; i++)
      head
        .uvarint(this.#lamports[i] as number)
        .bytes(this.#bytesOf(this.#times[i] as number))
        .bytes(this.#sources[i] as Buffer, spans[4 * i] as number, spans[4 * i + 1] as number)
    return head.written
  }

  /** The events of a request share one time, so its encoding is cached. */
  #bytesOf(time: number): Buffer {
    if (time !== this.#lastTime) {
      assert(isStorableTime(time), 'an event has a time that can be stored')
      this.#timeBytes = new ByteWriter(8).uvarint(time).copy()
      this.#lastTime = time
    }
    return this.#timeBytes
  }
}

/** Links a frame to the hash chain: the hash after it, from the hash before it. */
export function hashAfter(frame: Linkable, previous: Hash): Hash {
  const { bytes, count, head, payloads, secretsAt, seed } = frame
  const chain = new ChainLink(previous).bytes(bytes.subarray(...head))
  const salts = seed === undefined ? bytes : saltsOf(seed, count)
  for (let i = 0; i < count; i++) {
    const saltAt = seed === undefined ? (secretsAt[i] as number) : i * saltLength
    const start = payloads[2 * i] as number
    if (start < 0) chain.bytes(bytes.subarray(saltAt, saltAt + hashLength))
    else chain.hashes(payloadHash(salts, saltAt, bytes, start, payloads[2 * i + 1] as number))
  }
  return chain.hash()
}

/** Redacts payloads: drops them and their salts. The seed, which would reveal the salt, is replaced by the other salts. */
export function withoutPayload(frame: Frame, ...indices: readonly number[]): Buffer {
  for (const index of indices) assert(index >= 0 && index < frame.count, 'the event is in the frame')
  const redacted = new Set(indices)
  return withoutPayloadsAt(frame, (i) => redacted.has(i))
}

/** Drops all payloads of a frame and their salts: what is left is enough to verify the chain. */
export function withoutAllPayloads(frame: Frame): Buffer {
  return withoutPayloadsAt(frame, () => true)
}

function withoutPayloadsAt(frame: Frame, isDropped: (index: number) => boolean): Buffer {
  const { bytes, count, head, payloads, secretsAt, seed } = frame
  const salts = seed === undefined ? undefined : saltsOf(seed, count)
  const record = new ByteWriter(bytes.length + count * (saltLength + 1)).uvarint(head[1] - head[0])
  record.bytes(bytes, ...head).byte(secretKinds.list)
  for (let i = 0; i < count; i++) {
    const start = payloads[2 * i] as number
    const saltAt = salts === undefined ? (secretsAt[i] as number) : i * saltLength
    const source = salts ?? bytes
    if (start < 0) record.byte(secret.redacted).bytes(bytes, saltAt, saltAt + hashLength)
    else if (isDropped(i))
      record.byte(secret.redacted).latin1(payloadHash(source, saltAt, bytes, start, payloads[2 * i + 1] as number))
    else record.byte(secret.salt).bytes(source, saltAt, saltAt + saltLength)
  }
  const kept = (i: number): boolean => !isDropped(i) && (payloads[2 * i] as number) >= 0
  for (let i = 0; i < count; i++)
    record.uvarint(kept(i) ? (payloads[2 * i + 1] as number) - (payloads[2 * i] as number) : 0)
  for (let i = 0; i < count; i++)
    if (kept(i)) record.bytes(bytes, payloads[2 * i] as number, payloads[2 * i + 1] as number)
  return record.written
}

/** Up to this size a payload is copied behind its salt and hashed in one call, which is faster but takes memory. */
const copiedBytes = 16 * 1024
const scratch = new ByteWriter(saltLength + copiedBytes)

function payloadHash(salts: Buffer, saltAt: number, bytes: Buffer, start: number, end: number): Hash {
  if (end - start > copiedBytes) {
    const hash = createHash('sha256').update(salts.subarray(saltAt, saltAt + saltLength))
    return hash.update(bytes.subarray(start, end)).digest('binary') as Hash
  }
  scratch
    .clear()
    .bytes(salts, saltAt, saltAt + saltLength)
    .bytes(bytes, start, end)
  return sha256(scratch.written)
}

const link = new ByteWriter(256 * 1024)

/** The input of one link of the hash chain. The buffer is shared, so there is only one at a time. */
class ChainLink {
  constructor(previous: Hash) {
    link.clear().latin1(previous).latin1(domain)
  }

  bytes(bytes: Uint8Array): this {
    link.bytes(bytes)
    return this
  }

  /** Adds one or more hashes, as bytes or as latin1. */
  hashes(hashes: Uint8Array | string): this {
    if (typeof hashes === 'string') link.latin1(hashes)
    else link.bytes(hashes)
    return this
  }

  hash(): Hash {
    return sha256(link.written)
  }
}
