import type { CID } from 'multiformats/cid'
import { LruCache } from '../../base/lru-cache.ts'
import { tuning } from '../../base/tuning.ts'
import type { Blocks } from '../../store/index.ts'
import { type DecodedBlock, isBlockCid, type Link, MalformedUnixFs, parseCid, readBlock } from '../unixfs/index.ts'

/** A file, with its size in bytes, or a directory, with the cumulative size of its blocks. */
export type Content =
  | { readonly type: 'file'; readonly cid: string; readonly size: number }
  | { readonly type: 'directory'; readonly cid: string; readonly size: number; readonly children: readonly Child[] }

export interface Child {
  readonly size: number
  readonly name: string
  readonly cid: string
}

/** A block that is not stored. */
export interface MissingBlock {
  /** Its CID. */
  readonly missing: string
}

/** The result of resolving a path: no content if it does not exist, or a block is missing. */
export interface Resolved extends Partial<MissingBlock> {
  readonly content: Content | undefined
}

/** Reads files and directories from blocks, some of which may be missing. */
export class ContentReader {
  readonly #blocks: Blocks
  /** Inner nodes of DAGs: every read of a large file traverses the same few. */
  readonly #cache = new LruCache<string, DecodedBlock>(tuning.linkCacheBytes)

  constructor(blocks: Blocks) {
    this.#blocks = blocks
  }

  /** Resolves a path below a CID. */
  find(root: CID, path: readonly string[]): Resolved {
    let cid = root
    for (const name of path) {
      const block = this.#block(cid)
      if (block === undefined) return { content: undefined, ...missingBlock(cid) }
      const link = block.data.type === 'directory' ? block.links.find((entry) => entry.name === name) : undefined
      if (link === undefined) return { content: undefined }
      cid = link.cid
    }
    const block = this.#block(cid)
    return block === undefined ? { content: undefined, ...missingBlock(cid) } : { content: contentOf(cid, block) }
  }

  /** The bytes of a file from an offset to the end of its block, or the missing block. */
  read(file: string, offset: number): Uint8Array | MissingBlock | undefined {
    let at = offset
    for (let cid = parseCid(file); cid !== undefined; ) {
      const block = this.#block(cid)
      if (block === undefined) return missingBlock(cid)
      const { data, links } = block
      if (data.type !== 'file' || at >= data.size) throw new MalformedUnixFs('it has fewer bytes than it says')
      if (at < data.data.length) {
        const bytes = data.data.subarray(at)
        // The buffer is transferred to the caller, so bytes of a cached block are copied.
        return links.length === 0 ? bytes : bytes.slice()
      }
      at -= data.data.length
      let i = 0
      for (; at >= (data.blockSizes[i] as number); i++) at -= data.blockSizes[i] as number
      cid = (links[i] as Link).cid
    }
    return undefined
  }

  #block(cid: CID): DecodedBlock | undefined {
    if (!isBlockCid(cid)) return undefined
    const key = String(cid)
    const known = this.#cache.get(key)
    // A cached block may have been evicted from the store.
    if (known !== undefined && this.#blocks.has(cid.bytes)) return known
    const bytes = this.#blocks.get(cid.bytes)
    if (bytes === undefined) return undefined
    const block = readBlock(bytes)
    if (block.links.length > 0) this.#cache.set(key, block, block.length)
    return block
  }
}

/** Nothing for a CID of which there cannot be a block. */
function missingBlock(cid: CID): MissingBlock | undefined {
  return isBlockCid(cid) ? { missing: String(cid) } : undefined
}

function contentOf(cid: CID, { data, links, length }: DecodedBlock): Content {
  if (data.type === 'file') return { type: 'file', cid: String(cid), size: data.size }
  const children = links.map((link) => ({ size: link.size, name: link.name, cid: String(link.cid) }))
  const size = links.reduce((sum, link) => sum + link.size, length)
  return { type: 'directory', cid: String(cid), size, children }
}
