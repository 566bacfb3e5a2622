import { createHash } from 'node:crypto'
import { text, uvarint } from './naive.ts'

/** A reference implementation of the digest of docs/protocol.md, without any code of the product. */
export interface NaiveEntry {
  node: Uint8Array
  number: number
  pruned: number
  count: number
  hash: Uint8Array
  records: Uint8Array
  frozen: boolean
}

const sha256 = (...parts: Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest()
const word = (name: string): Buffer => Buffer.from(`${name}\0`)

export function naiveBucketOf({ node, number }: Pick<NaiveEntry, 'node' | 'number'>): number {
  return sha256(word('shoal/stream-bucket/1'), node, uvarint(number))[0] as number
}

export function naiveEntry(topic: string, entry: NaiveEntry): Buffer {
  const { node, number, pruned, count, hash, records, frozen } = entry
  return sha256(
    word('shoal/head-entry/1'),
    text(topic),
    node,
    uvarint(number),
    uvarint(pruned),
    uvarint(count),
    hash,
    records,
    Buffer.of(frozen ? 1 : 0),
  )
}

export function naiveDigest(topic: string, table: readonly NaiveEntry[]): { buckets: Buffer[]; all: Buffer } {
  const buckets = Array.from({ length: 256 }, (_, bucket) => {
    const entries = table.filter((entry) => naiveBucketOf(entry) === bucket).map((entry) => naiveEntry(topic, entry))
    return sha256(word('shoal/head-bucket/1'), text(topic), ...entries.sort(Buffer.compare))
  })
  return { buckets, all: sha256(word('shoal/head-table/1'), text(topic), ...buckets) }
}
