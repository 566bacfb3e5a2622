import { format } from '../base/format.ts'
import type { Hash, StreamKey } from '../protocol/index.ts'
import { bucketOf, HeadDigest, nameOfStream, type StreamHead } from '../replication/index.ts'

/** What a node has of a stream, as it is compared with other nodes. */
export type TableRow = Omit<StreamHead, 'number' | 'own' | 'lamport'>

const zeros = '\0'.repeat(32) as Hash

/** The heads of all streams of a node, with the digests that it sends: the first bytes of those of `HeadDigest`. */
export class HeadTable {
  readonly #rows = new Map<string, TableRow>()
  /** By bucket: the names of its streams. Which bucket a stream is in is hashed once. */
  readonly #names: string[][] = Array.from({ length: format.digestBuckets }, () => [])
  readonly #digest: HeadDigest
  readonly #isShown: (stream: StreamKey) => boolean
  /** Undefined after a change. */
  #buckets: Buffer | undefined

  /** @param isShown whether a stream is in the digests; `show` after a change */
  constructor(topic: string, isShown: (stream: StreamKey) => boolean) {
    this.#digest = new HeadDigest(topic)
    this.#isShown = isShown
  }

  get(name: string): TableRow | undefined {
    return this.#rows.get(name)
  }

  set(given: TableRow): void {
    const row = this.#withNewestHead(given)
    const name = nameOfStream(row.key)
    if (!this.#rows.has(name)) this.#names[bucketOf(row.key)]?.push(name)
    this.#rows.set(name, row)
    this.#showRow(row)
  }

  delete(stream: StreamKey): void {
    const name = nameOfStream(stream)
    if (!this.#rows.delete(name)) return
    const names = this.#names[bucketOf(stream)] ?? []
    names.splice(names.indexOf(name), 1)
    this.#digest.delete(stream)
    this.#buckets = undefined
  }

  /** Puts streams into the digests that are shown now, and removes those that are not. */
  show(): void {
    for (const row of this.#rows.values()) this.#showRow(row)
  }

  #showRow({ key: stream, count, pruned, hash, records, frozen }: TableRow): void {
    this.#buckets = undefined
    if (!this.#isShown(stream)) {
      this.#digest.delete(stream)
      return
    }
    // Nodes may have frozen different parts of a forked stream, and stay with them.
    if (frozen) this.#digest.set({ stream, count: 0, pruned: 0, hash: zeros, records: zeros, frozen })
    else this.#digest.set({ stream, count, pruned, hash, records, frozen })
  }

  /** A row may be read from the store before own events are added, and given after that. */
  #withNewestHead(row: TableRow): TableRow {
    const known = this.#rows.get(nameOfStream(row.key))
    if (known === undefined || row.frozen || known.count <= row.count) return row
    const { count, hash, head } = known
    return { ...row, count, hash, head }
  }

  /** All rows, in the order in which the streams became known. */
  all(): IterableIterator<TableRow> {
    return this.#rows.values()
  }

  /** The rows in some buckets. */
  in(buckets: ReadonlySet<number>): TableRow[] {
    const names = [...buckets].flatMap((bucket) => this.#names[bucket] ?? [])
    return names.map((name) => this.#rows.get(name)).filter((row) => row !== undefined)
  }

  /** The digest of the whole table. */
  digest(): Buffer {
    return sent(this.#digest.all)
  }

  /** The digests of all buckets, one after the other. They must not be changed. */
  buckets(): Buffer {
    if (this.#buckets !== undefined) return this.#buckets
    const buckets = Buffer.alloc(format.digestBuckets * format.digestBytes)
    for (const [i, digest] of this.#digest.buckets().entries())
      buckets.write(digest.slice(0, format.digestBytes), i * format.digestBytes, 'latin1')
    this.#buckets = buckets
    return buckets
  }

  /** The buckets whose digests differ from others. */
  differing(others: Uint8Array): number[] {
    const own = this.buckets()
    const differing: number[] = []
    for (let i = 0; i < format.digestBuckets; i++) {
      const [start, end] = [i * format.digestBytes, (i + 1) * format.digestBytes]
      let at = start
      while (at < end && own[at] === others[at]) at++
      if (at < end) differing.push(i)
    }
    return differing
  }
}

/** The part of a hash that is sent, and compared with what others send. */
export function sent(hash: Hash): Buffer {
  return Buffer.from(hash.slice(0, format.digestBytes), 'latin1')
}
