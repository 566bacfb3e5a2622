import { format } from '../base/format.ts'
import type { Hash } from '../protocol/index.ts'
import { bucketOf, HeadDigest, nameOfStream, type StreamHead } from '../replication/index.ts'

/** Stands for no records: they are not exchanged yet. */
const noRecords = '\0'.repeat(32) as Hash

/** The heads of all streams of a node, with the digests that it sends: the first bytes of those of `HeadDigest`. */
export class HeadTable {
  readonly #heads = new Map<string, StreamHead>()
  readonly #digest: HeadDigest

  constructor(topic: string) {
    this.#digest = new HeadDigest(topic)
  }

  get(name: string): StreamHead | undefined {
    return this.#heads.get(name)
  }

  set(head: StreamHead): void {
    const { key: stream, count, pruned, hash } = head
    this.#heads.set(nameOfStream(stream), head)
    this.#digest.set({ stream, count, pruned, hash, records: noRecords, frozen: false })
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
    return sent(this.#digest.all)
  }

  /** The digests of all buckets, one after the other. */
  buckets(): Buffer {
    return Buffer.concat(this.#digest.buckets().map(sent))
  }

  /** The buckets whose digests differ from others. */
  differing(others: Uint8Array): number[] {
    const size = format.digestBytes
    return this.#digest.buckets().flatMap((digest, i) => {
      const other = others.subarray(i * size, (i + 1) * size)
      return Buffer.compare(sent(digest), other) === 0 ? [] : [i]
    })
  }
}

function sent(digest: Hash): Buffer {
  return Buffer.from(digest.slice(0, format.digestBytes), 'latin1')
}
