import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { isStorableTime, latestMicros } from '../base/timestamps.ts'
import type { KeyPair } from '../identity/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { type OffsetRange, readRanges, writeRanges } from './offset-ranges.ts'
import { type Hash, readStream, type StreamKey, writeStream } from './stream.ts'
import { verifierOf } from './verifiers.ts'

/** Signed bytes start with a domain separator, the topic and the stream: no signature is valid elsewhere. */
interface Signed {
  readonly topic: string
  readonly stream: StreamKey
  /** Microseconds since the Unix epoch, by the clock of the node that signed. */
  readonly time: number
}

/** A signed commitment to the first `count` events of a stream, by the hash of its chain. */
export interface Head extends Signed {
  readonly count: number
  /** The lamport timestamp of the last of these events. */
  readonly lamport: number
  readonly hash: Hash
  /** A checkpoint ends a chunk: every node keeps its head. */
  readonly checkpoint: boolean
}

/**
 * A signed request to prune the first `count` events of a stream, up to a checkpoint. With the hash of the chain it
 * belongs to one history of the stream.
 */
export interface PruneRecord extends Signed {
  readonly count: number
  readonly hash: Hash
  /** The lamport timestamp of the last of these events. */
  readonly lamport: number
}

/** A prune record as it is stored: one of an earlier version has no hash and no lamport timestamp. */
export type StoredPrune = Omit<PruneRecord, 'hash' | 'lamport'> & Partial<PruneRecord>

/** A signed request to redact the payloads of events of a stream. */
export interface RedactionRecord extends Signed {
  /** Ascending, with gaps between them. */
  readonly ranges: readonly OffsetRange[]
}

const signatureLength = 64
const domains = {
  head: 'shoal/head/1\0',
  prune: 'shoal/prune/2\0',
  legacyPrune: 'shoal/prune/1\0',
  redaction: 'shoal/redaction/2\0',
  legacyRedaction: 'shoal/redaction/1\0',
} as const

/** Encodes, signs, decodes and verifies one type of signed object. */
class SignedForm<T extends Signed> {
  readonly #domain: Buffer
  readonly #write: (writer: ByteWriter, value: T) => void
  readonly #read: (reader: ByteReader) => Omit<T, keyof Signed>

  constructor(
    domain: string,
    write: (writer: ByteWriter, value: T) => void,
    read: (reader: ByteReader) => Omit<T, keyof Signed>,
  ) {
    this.#domain = Buffer.from(domain, 'latin1')
    this.#write = write
    this.#read = read
  }

  /** Whether bytes begin like this type of signed object. */
  isOfType(signed: Uint8Array): boolean {
    return this.#domain.equals(signed.subarray(0, this.#domain.length))
  }

  /** The canonical encoding that is signed. */
  encode(value: T): Buffer {
    assert(isStorableTime(value.time), 'a signed object has a time that can be stored')
    const writer = new ByteWriter(256).bytes(this.#domain).text(value.topic)
    writeStream(writer, value.stream)
    this.#write(writer, value)
    return writer.uvarint(value.time).copy()
  }

  /** The encoding with its signature appended. */
  sign(value: T, key: KeyPair): Buffer {
    const bytes = this.encode(value)
    return Buffer.concat([bytes, key.sign(bytes)])
  }

  /** Decodes signed bytes without checking the signature, see `verify`. */
  decode(signed: Uint8Array): T {
    return this.#decode(signed, (reader) => reader.uvarint())
  }

  /** Decodes stored bytes, which may have a legacy time: an earlier version signed them while the clock was wrong. */
  decodeStored(signed: Uint8Array): T {
    try {
      return this.decode(signed)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      return this.#decode(signed, (reader) => readLegacyEnd(reader, error))
    }
  }

  #decode(signed: Uint8Array, readTime: (reader: ByteReader) => number): T {
    const reader = new ByteReader(signed, 0, signed.length - signatureLength)
    if (reader.remaining <= 0 || !reader.bytes(this.#domain.length).equals(this.#domain))
      throw new MalformedBytes('signed bytes with another domain separator')
    const topic = reader.text(format.topicBytes)
    const stream = readStream(reader)
    const members = this.#read(reader)
    const time = readTime(reader)
    reader.finish()
    return { topic, stream, ...members, time } as T
  }

  /** Decodes signed bytes and checks the signature of the stream's node. */
  verify(signed: Uint8Array): T {
    return this.#verified(this.decode(signed), signed)
  }

  /** The same for stored bytes, see `decodeStored`. */
  verifyStored(signed: Uint8Array): T {
    return this.#verified(this.decodeStored(signed), signed)
  }

  #verified(value: T, signed: Uint8Array): T {
    const end = signed.length - signatureLength
    if (!verifierOf(value.stream.node).verify(signed.subarray(0, end), signed.subarray(end)))
      throw new MalformedBytes('the signature is invalid')
    return value
  }
}

/** Reads a legacy time at the end of signed bytes, which earlier versions wrote while the clock was wrong. */
function readLegacyEnd(reader: ByteReader, error: MalformedBytes): number {
  const { remaining } = reader
  const isBefore = remaining === 1
  if (!isBefore && remaining !== 8 && remaining !== 9) throw error
  reader.skip(remaining)
  return isBefore ? 0 : latestMicros
}

export const heads = new SignedForm<Head>(
  domains.head,
  (writer, { count, lamport, hash, checkpoint }) =>
    writer
      .uvarint(count)
      .uvarint(lamport)
      .latin1(hash)
      .byte(checkpoint ? 1 : 0),
  (reader) => {
    const count = reader.uvarint()
    const lamport = reader.uvarint()
    const hash = reader.bytes(32).toString('latin1') as Hash
    const flag = reader.byte()
    if (flag > 1) throw new MalformedBytes('a flag is neither 0 nor 1')
    return { count, lamport, hash, checkpoint: flag === 1 }
  },
)

export const pruneRecords = new SignedForm<PruneRecord>(
  domains.prune,
  (writer, { count, hash, lamport }) => writer.uvarint(count).latin1(hash).uvarint(lamport),
  (reader) => {
    const count = reader.uvarint()
    if (count === 0 || count > format.eventsPerStream)
      throw new MalformedBytes('a prune record with an impossible number of events')
    return { count, hash: reader.bytes(32).toString('latin1') as Hash, lamport: reader.uvarint() }
  },
)

const legacyPruneRecords = new SignedForm<Omit<PruneRecord, 'hash' | 'lamport'>>(
  domains.legacyPrune,
  (writer, { count }) => writer.uvarint(count),
  (reader) => ({ count: reader.uvarint() }),
)

/** Decodes a stored prune record of any version, and checks its signature. */
export function verifyStoredPrune(signed: Uint8Array): StoredPrune {
  return (legacyPruneRecords.isOfType(signed) ? legacyPruneRecords : pruneRecords).verifyStored(signed)
}

export const redactionRecords = new SignedForm<RedactionRecord>(
  domains.redaction,
  (writer, { ranges }) => writeRanges(writer, ranges),
  (reader) => ({ ranges: readRanges(reader) }),
)

/** Version 1 has a single offset. */
const legacyRedactionRecords = new SignedForm<Signed & { readonly offset: number }>(
  domains.legacyRedaction,
  (writer, { offset }) => writer.uvarint(offset),
  (reader) => {
    const offset = reader.uvarint()
    if (offset >= format.eventsPerStream) throw new MalformedBytes('a redaction record with an impossible offset')
    return { offset }
  },
)

/** Decodes a redaction record of any version, and checks its signature. */
export function verifyRedactionRecord(signed: Uint8Array): RedactionRecord {
  if (!legacyRedactionRecords.isOfType(signed)) return redactionRecords.verify(signed)
  return withRange(legacyRedactionRecords.verify(signed))
}

/** The stream that a redaction record of any version says it is of. */
export function streamOfRedaction(signed: Uint8Array): StreamKey {
  return (legacyRedactionRecords.isOfType(signed) ? legacyRedactionRecords : redactionRecords).decode(signed).stream
}

/** The same for stored bytes, see `decodeStored`. */
export function verifyStoredRedaction(signed: Uint8Array): RedactionRecord {
  if (!legacyRedactionRecords.isOfType(signed)) return redactionRecords.verifyStored(signed)
  return withRange(legacyRedactionRecords.verifyStored(signed))
}

function withRange({ offset, ...signed }: Signed & { readonly offset: number }): RedactionRecord {
  return { ...signed, ranges: [{ first: offset, count: 1 }] }
}
