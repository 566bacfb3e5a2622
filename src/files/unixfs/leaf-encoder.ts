import type { Block } from './block.ts'
import { cidOf } from './cid.ts'
import { encodeVarint, unixFsFields } from './unixfs-data.ts'

/** The field of a block that has its data. */
const dataField = 0x0a

/**
 * Makes the blocks that have the bytes of a file: the same as any other block without links would be, but in memory that
 * is used again for the next one. A large file is almost nothing else.
 */
export class LeafEncoder {
  #memory = new Uint8Array(0)

  encode(chunk: Uint8Array): Block {
    const { type, data, size, file } = unixFsFields
    const length = encodeVarint(chunk.length)
    const inner = [type, file, ...(chunk.length > 0 ? [data, ...length] : [])]
    const tail = [size, ...length]
    const head = [dataField, ...encodeVarint(inner.length + chunk.length + tail.length), ...inner]
    const bytes = this.#take(head.length + chunk.length + tail.length)
    bytes.set(head)
    bytes.set(chunk, head.length)
    bytes.set(tail, head.length + chunk.length)
    return { cid: cidOf(bytes), bytes, links: [] }
  }

  #take(length: number): Uint8Array {
    if (this.#memory.length < length) this.#memory = new Uint8Array(length)
    return this.#memory.subarray(0, length)
  }
}
