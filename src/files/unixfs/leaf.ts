import { limits } from '../../limits.ts'
import type { Block } from './block.ts'
import { cidOf } from './cid.ts'
import { encodeVarint, unixFsFields } from './unixfs-data.ts'

/** The field of a block that has its data. */
const dataField = 0x0a

/** Bytes before a chunk, and after it, that are enough for what makes a block of it. */
const room = 16

/** Memory for a chunk of a file, with room around it. */
export class ChunkMemory {
  readonly buffer: ArrayBuffer
  /** Where the bytes of the chunk go. */
  readonly chunk: Uint8Array

  constructor(buffer = new ArrayBuffer(room + limits.fileChunkBytes + room)) {
    this.buffer = buffer
    this.chunk = new Uint8Array(buffer, room, limits.fileChunkBytes)
  }
}

/**
 * Makes a block of the first bytes of a chunk, around them in the same memory: the same as any other block without links
 * would be, but a large file is almost nothing else.
 */
export function makeLeaf({ buffer, chunk }: ChunkMemory, count: number): Block {
  const { type, data, size, file } = unixFsFields
  const length = encodeVarint(count)
  const inner = [type, file, ...(count > 0 ? [data, ...length] : [])]
  const tail = [size, ...length]
  const head = [dataField, ...encodeVarint(inner.length + count + tail.length), ...inner]
  const bytes = new Uint8Array(buffer, chunk.byteOffset - head.length, head.length + count + tail.length)
  bytes.set(head)
  bytes.set(tail, head.length + count)
  return { cid: cidOf(bytes), bytes, links: [] }
}
