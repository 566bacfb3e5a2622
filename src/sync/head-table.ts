import { format } from '../base/format.ts'
import type { Hash } from '../protocol/index.ts'
import { bucketOf, HeadDigest, nameOfStream, type StreamHead } from '../replication/index.ts'

/** What a node has of a stream, as it is compared with other nodes. */
export type TableRow = Omit<StreamHead, 'number' | 'own' | 'lamport'>

const zeros = '\0'.repeat(32) as Hash

/** The heads of all streams of a node, with the digests that it sends: the first bytes of those of `HeadDigest`. */
export class HeadTable {
  readonly #rows = new Map<string, TableRow>()
  readonly #digest: HeadDigest

  constructor(topic: string) {
    this.#digest = new HeadDigest(topic)
  }

  get(name: string): TableRow | undefined {
    return this.#rows.get(name)
  }

  set(row: TableRow): void {
    const { key: stream, count, pruned, hash, records, frozen } = row
    this.#rows.set(nameOfStream(stream), row)
    // Nodes may have frozen different parts of a forked stream, and stay with them.
    if (frozen) this.#digest.set({ stream, count: 0, pruned: 0, hash: zeros, records: zeros, frozen })
    else this.#digest.set({ stream, count, pruned, hash, records, frozen })
  }

  /** All rows, in the order in which the streams became known. */
  all(): IterableIterator<TableRow> {
    return this.#rows.values()
  }

  /** The rows in some buckets. */
  in(buckets: ReadonlySet<number>): TableRow[] {
    return [...this.#rows.values()].filter(({ key }) => buckets.has(bucketOf(key)))
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

/** The part of a hash that is sent, and compared with what others send. */
export function sent(hash: Hash): Buffer {
  return Buffer.from(hash.slice(0, format.digestBytes), 'latin1')
}
