import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'
import { cidOf } from './cid.ts'
import type { Block } from './cid-block.ts'
import { encodeVarint, unixFsFields } from './unixfs-data.ts'

/** The protobuf tag of the field `Data` of dag-pb. */
const dataField = 0x0a

/** Bytes before and after a chunk, enough to encode a leaf in place. */
const padding = 16

const paddedBytes = padding + format.fileChunkBytes + padding

/** A transferable buffer for several chunks of a file, with padding around each. */
export class ChunkMemory {
  readonly buffer: ArrayBuffer

  constructor(buffer = new ArrayBuffer(tuning.uploadBatchChunks * paddedBytes)) {
    this.buffer = buffer
  }

  /** The bytes of a chunk. */
  chunk(index: number): PaddedChunk {
    return new Uint8Array(this.buffer, index * paddedBytes + padding, format.fileChunkBytes) as PaddedChunk
  }
}

/** A chunk with padding before and after it in its buffer. */
export type PaddedChunk = Uint8Array<ArrayBuffer> & { readonly padded: never }

/**
 * Encodes a leaf in place, around the first bytes of a chunk. The result equals that of `makeBlock`, without a copy:
 * nearly all bytes of a large file are in leaves.
 */
export function makeLeaf(chunk: PaddedChunk, count: number): Block {
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
