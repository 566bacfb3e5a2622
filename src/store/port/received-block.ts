import { hash } from 'node:crypto'
import { decode } from '@ipld/dag-pb'
import { format } from '../../base/format.ts'
import type { ReceivedBlock } from './wanted-blocks.ts'

/** What a store knows about a block that has arrived. */
interface KnownBlock {
  readonly isStored: boolean
  /** Whether it is referenced, or a download waits for it. */
  readonly isWanted: boolean
}

type Admitted =
  | { readonly outcome: ReceivedBlock['outcome'] }
  | { readonly outcome: 'store'; readonly links: readonly Uint8Array[] }

/** The first bytes of the CIDs of all blocks: version 1, dag-pb, SHA-256 with 32 bytes. */
const cidPrefix = Buffer.of(0x01, 0x70, 0x12, 0x20)

/** Decides about a block of another node: the same for all stores. */
export function admitBlock(cid: Uint8Array, bytes: Uint8Array, { isStored, isWanted }: KnownBlock): Admitted {
  if (bytes.length > format.fileBlockBytes || !isStorable(cid) || !isDigestOf(cid, bytes)) return { outcome: 'wrong' }
  if (isStored) return { outcome: 'stored' }
  if (!isWanted) return { outcome: 'unwanted' }
  return { outcome: 'store', links: linksOf(bytes) }
}

/** Whether blocks with such a CID can be stored. */
function isStorable(cid: Uint8Array): boolean {
  return cid.length === cidPrefix.length + 32 && cidPrefix.equals(cid.subarray(0, cidPrefix.length))
}

/** A CID ends with a SHA-256 digest; other hash functions are not supported. */
export function isDigestOf(cid: Uint8Array, bytes: Uint8Array): boolean {
  return hash('sha256', bytes, 'buffer').equals(cid.subarray(-32))
}

/**
 * The links of a block, without those to blocks that cannot be stored. Bytes that belong to the CID but are not dag-pb
 * have no links: they are stored, because no node has other ones.
 */
function linksOf(bytes: Uint8Array): Uint8Array[] {
  try {
    return decode(bytes)
      .Links.map(({ Hash }) => Hash.toV1().bytes)
      .filter(isStorable)
  } catch {
    return []
  }
}
