import { hash } from 'node:crypto'
import { CID } from 'multiformats/cid'
import { create } from 'multiformats/hashes/digest'

const dagPb = 0x70
const sha256 = 0x12

/** The identifier that a text is, of whichever kind; nothing when it is none. One of version 0 means the same as one of version 1. */
export function parseCid(text: string): CID | undefined {
  try {
    return CID.parse(text).toV1()
  } catch {
    return undefined
  }
}

/** The identifier of a block. */
export function cidOf(block: Uint8Array): CID {
  return CID.createV1(dagPb, create(sha256, hash('sha256', block, 'buffer')))
}

/** Whether this can be the identifier of a block that is kept here. */
export function isBlockCid({ code, multihash }: CID): boolean {
  return code === dagPb && multihash.code === sha256 && multihash.size === 32
}
