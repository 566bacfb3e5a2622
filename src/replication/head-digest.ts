import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { ByteWriter, type Hash, type StreamKey, sha256, writeStream } from '../protocol/index.ts'
import { nameOfStream } from './streams.ts'

/** What two nodes compare of a stream. Not its signed head, which has other bytes after every signature. */
export interface DigestEntry {
  readonly stream: StreamKey
  readonly pruned: number
  readonly count: number
  /** The chain hash after the last event. */
  readonly hash: Hash
  /** A hash of the prune and redaction records of the stream. */
  readonly records: Hash
  readonly frozen: boolean
}

const domains = {
  entry: 'shoal/head-entry/1\0',
  bucket: 'shoal/head-bucket/1\0',
  table: 'shoal/head-table/1\0',
} as const
const bucketDomain = 'shoal/stream-bucket/1\0'

interface Bucket {
  /** By stream: the hash of its entry. */
  readonly entries: Map<string, Hash>
  /** Undefined until it is asked for. */
  digest: Hash | undefined
}

/**
 * The digest of a head table: equal tables have equal digests, others have not, since all of it is hashed. A change of
 * one stream makes one bucket out of date. It is hashed again when it is asked for, with the others as they are.
 */
export class HeadDigest {
  readonly #topic: string
  readonly #buckets: readonly Bucket[]
  #size = 0
  #all: Hash | undefined

  constructor(topic: string) {
    this.#topic = topic
    this.#buckets = Array.from({ length: format.digestBuckets }, () => ({ entries: new Map(), digest: undefined }))
  }

  /** Adds a stream, or replaces its entry. */
  set(entry: DigestEntry): void {
    const bucket = this.#bucketFor(entry.stream)
    const name = nameOfStream(entry.stream)
    const hash = entryHash(entry, this.#topic)
    const known = bucket.entries.get(name)
    if (known === hash) return
    assert(
      known !== undefined || this.#size < format.streamsPerTopic,
      'a head table has at most as many streams as a topic',
    )
    if (known === undefined) this.#size++
    bucket.entries.set(name, hash)
    this.#outdate(bucket)
  }

  /** Removes a stream, if it is there. */
  delete(stream: StreamKey): void {
    const bucket = this.#bucketFor(stream)
    if (!bucket.entries.delete(nameOfStream(stream))) return
    this.#size--
    this.#outdate(bucket)
  }

  /** The digest of the whole table. */
  get all(): Hash {
    this.#all ??= hashOf(domains.table, this.#topic, this.buckets())
    return this.#all
  }

  /** The digests of all buckets, in order. */
  buckets(): Hash[] {
    return this.#buckets.map((bucket) => {
      bucket.digest ??= hashOf(domains.bucket, this.#topic, [...bucket.entries.values()].sort())
      return bucket.digest
    })
  }

  #bucketFor(stream: StreamKey): Bucket {
    return this.#buckets[bucketOf(stream)] as Bucket
  }

  #outdate(bucket: Bucket): void {
    bucket.digest = undefined
    this.#all = undefined
  }
}

/** The number of the bucket of a stream: the first byte of a hash of its key. */
export function bucketOf(stream: StreamKey): number {
  const writer = new ByteWriter(64).latin1(bucketDomain)
  writeStream(writer, stream)
  return sha256(writer.written).charCodeAt(0) % format.digestBuckets
}

function entryHash({ stream, pruned, count, hash, records, frozen }: DigestEntry, topic: string): Hash {
  const writer = new ByteWriter(256).latin1(domains.entry).text(topic)
  writeStream(writer, stream)
  writer.uvarint(pruned).uvarint(count).latin1(hash).latin1(records)
  return sha256(writer.byte(frozen ? 1 : 0).written)
}

/** As latin1 strings, hashes sort like their bytes. */
function hashOf(domain: string, topic: string, hashes: readonly Hash[]): Hash {
  const writer = new ByteWriter(256 + 32 * hashes.length).latin1(domain).text(topic)
  for (const hash of hashes) writer.latin1(hash)
  return sha256(writer.written)
}
