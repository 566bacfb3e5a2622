import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { ByteWriter, type Hash, type StreamKey, sha256, writeStream } from '../protocol/index.ts'

/** What this node has of a stream. */
export interface StreamHead {
  readonly key: StreamKey
  /** Number of events, including pruned ones. */
  readonly count: number
  readonly pruned: number
  /** The hash of its chain. */
  readonly hash: Hash
  /** The newest signed head. */
  readonly signed: Uint8Array
}

/** The name of a stream as a key of maps. */
export type StreamName = string & { readonly __brand: 'StreamName' }

export function streamName({ node, number }: StreamKey): StreamName {
  return `${Buffer.from(node).toString('latin1')}${number}` as StreamName
}

/**
 * The heads of all streams of a node, with digests. The digest of a bucket is the XOR of the hashes of its entries, so
 * that a change costs one hash. It holds no signature: a head that is signed again is the same entry.
 */
export class HeadTable {
  readonly #heads = new Map<StreamName, StreamHead>()
  readonly #buckets = Buffer.alloc(format.digestBuckets * format.digestBytes)

  get(name: StreamName): StreamHead | undefined {
    return this.#heads.get(name)
  }

  set(head: StreamHead): void {
    const name = streamName(head.key)
    const before = this.#heads.get(name)
    assert(before === undefined || head.count >= before.pruned, 'a stream does not end before its start')
    if (before !== undefined) this.#toggle(before)
    this.#heads.set(name, head)
    this.#toggle(head)
  }

  /** All heads, in the order in which the streams became known. */
  all(): IterableIterator<StreamHead> {
    return this.#heads.values()
  }

  /** The heads in some buckets. */
  in(buckets: ReadonlySet<number>): StreamHead[] {
    return [...this.#heads.values()].filter(({ key }) => buckets.has(bucketOf(key)))
  }

  /** The digest of the whole table. */
  digest(): Buffer {
    return Buffer.from(sha256(this.#buckets), 'latin1').subarray(0, format.digestBytes)
  }

  /** The digests of all buckets, one after the other. */
  buckets(): Buffer {
    return Buffer.from(this.#buckets)
  }

  /** The buckets whose digests differ from others. */
  differing(others: Uint8Array): number[] {
    const size = format.digestBytes
    return Array.from({ length: format.digestBuckets }, (_, i) => i).filter((i) => {
      const [start, end] = [i * size, (i + 1) * size]
      return Buffer.compare(this.#buckets.subarray(start, end), others.subarray(start, end)) !== 0
    })
  }

  #toggle(head: StreamHead): void {
    const at = bucketOf(head.key) * format.digestBytes
    const hash = entryHash(head)
    for (let i = 0; i < format.digestBytes; i++)
      this.#buckets[at + i] = (this.#buckets[at + i] as number) ^ hash.charCodeAt(i)
  }
}

function bucketOf(key: StreamKey): number {
  const writer = new ByteWriter(48)
  writeStream(writer, key)
  return sha256(writer.written).charCodeAt(0) % format.digestBuckets
}

function entryHash({ key, count, pruned, hash }: StreamHead): Hash {
  const writer = new ByteWriter(128).latin1('shoal/digest/1\0')
  writeStream(writer, key)
  return sha256(writer.uvarint(count).uvarint(pruned).latin1(hash).written)
}
