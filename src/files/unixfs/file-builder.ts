import type { CID } from 'multiformats/cid'
import { assert } from '../../base/assert.ts'
import { format } from '../../base/format.ts'
import { type Block, cumulativeSize, type Link, makeBlock } from './cid-block.ts'
import { ChunkMemory, makeLeaf, type PaddedChunk } from './leaf.ts'
import type { UnixFsData } from './unixfs-data.ts'

/** A block without a parent yet. */
interface Part {
  readonly link: Link
  /** Bytes of the file in the block and in its descendants. */
  readonly fileBytes: number
}

const emptyFile: UnixFsData = { type: 'file', data: new Uint8Array(0), size: 0, blockSizes: [] }

/** A stored file. */
export interface StoredFile {
  readonly cid: CID
  readonly size: number
}

/**
 * Builds the DAG of a file from its chunks: a balanced tree that is filled from the left, level by level. The buffer of
 * a block is reused for the next one, so `store` must not keep it.
 */
export class FileBuilder {
  readonly #store: (block: Block) => void
  #memory: PaddedChunk | undefined
  /** The blocks without a parent, by level. */
  readonly #levels: Part[][] = [[]]
  #size = 0

  constructor(store: (block: Block) => void) {
    this.#store = store
  }

  /** Adds a chunk. All but the last one have the same length. */
  add(chunk: Uint8Array): void {
    this.#memory ??= new ChunkMemory().chunk(0)
    this.#memory.set(chunk)
    this.addPadded(this.#memory, chunk.length)
  }

  /** Adds the first bytes of a padded chunk. The block is encoded in place, into the padding. */
  addPadded(chunk: PaddedChunk, length: number): void {
    this.#size += length
    this.#push(0, this.#part(makeLeaf(chunk, length), length))
  }

  finish(): StoredFile {
    if (this.#size === 0) this.#push(0, this.#part(makeBlock(emptyFile, []), 0))
    for (let level = 0; ; level++) {
      const parts = this.#levels[level] ?? []
      const [only] = parts
      assert(only !== undefined, 'a level of the DAG has blocks')
      if (parts.length === 1 && level === this.#levels.length - 1) return { cid: only.link.cid, size: this.#size }
      this.#push(level + 1, this.#parent(parts))
    }
  }

  #push(level: number, part: Part): void {
    const parts = this.#levels[level] ?? []
    this.#levels[level] = parts
    // A full level gets a parent only with the next block: a root must not get a parent with a single link.
    if (parts.length === format.linksPerBlock) {
      this.#levels[level] = [part]
      this.#push(level + 1, this.#parent(parts))
    } else parts.push(part)
  }

  #parent(parts: readonly Part[]): Part {
    const blockSizes = parts.map(({ fileBytes }) => fileBytes)
    const size = blockSizes.reduce((sum, bytes) => sum + bytes, 0)
    const links = parts.map(({ link }) => link)
    return this.#part(makeBlock({ type: 'file', data: new Uint8Array(0), size, blockSizes }, links), size)
  }

  #part(block: Block, fileBytes: number): Part {
    this.#store(block)
    return { link: { cid: block.cid, name: '', size: cumulativeSize(block) }, fileBytes }
  }
}
