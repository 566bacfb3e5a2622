import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'
import { cidOf } from './cid.ts'
import type { Block } from './cid-block.ts'
import { encodeVarint, unixFsFields } from './unixfs-data.ts'

/** The field of a block that has its data. */
const dataField = 0x0a

/** Bytes before a chunk, and after it, that are enough for what makes a block of it. */
const room = 16

const roomyBytes = room + format.fileChunkBytes + room

/** Memory for some chunks of a file that go from one thread to another together, with room around each. */
export class ChunkMemory {
  readonly buffer: ArrayBuffer

  constructor(buffer = new ArrayBuffer(tuning.chunksTogether * roomyBytes)) {
    this.buffer = buffer
  }

  /** Where the bytes of a chunk go. */
  chunk(index: number): RoomyChunk {
    return new Uint8Array(this.buffer, index * roomyBytes + room, format.fileChunkBytes) as RoomyChunk
  }
}

/** Memory for a chunk with room around it. */
export type RoomyChunk = Uint8Array<ArrayBuffer> & { readonly roomy: never }

/**
 * Makes a block of the first bytes of a chunk, around them in the same memory: the same as any other block without links
 * would be, but a large file is almost nothing else.
 */
export function makeLeaf(chunk: RoomyChunk, count: number): Block {
  const { type, data, size, file } = unixFsFields
  const length = encodeVarint(count)
  const inner = [type, file, ...(count > 0 ? [data, ...length] : [])]
  const tail = [size, ...length]
  const head = [dataField, ...encodeVarint(inner.length + count + tail.length), ...inner]
  const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset - head.length, head.length + count + tail.length)
  bytes.set(head)
  bytes.set(tail, head.length + count)
  return { cid: cidOf(bytes), bytes, links: [] }
}
