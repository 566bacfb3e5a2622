import { hash } from 'node:crypto'
import { CID } from 'multiformats/cid'
import { create } from 'multiformats/hashes/digest'

const dagPb = 0x70
const sha256 = 0x12

/** Parses a CID of any codec and converts it to version 1; undefined if the text is not a CID. */
export function parseCid(text: string): CID | undefined {
  try {
    return CID.parse(text).toV1()
  } catch {
    return undefined
  }
}

/** The CID of a block. */
export function cidOf(block: Uint8Array): CID {
  return CID.createV1(dagPb, create(sha256, hash('sha256', block, 'buffer')))
}

/** Whether blocks with such a CID can be stored: dag-pb with SHA-256. */
export function isBlockCid({ code, multihash }: CID): boolean {
  return code === dagPb && multihash.code === sha256 && multihash.size === 32
}
