import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'
import { type ByteReader, type ByteWriter, MalformedBytes } from '../../protocol/index.ts'

const encodings = { plain: 0, zstd: 1 } as const

/** Writes a chunk, compressed if that makes it smaller. */
export function writePacked(writer: ByteWriter, chunk: Uint8Array): void {
  const packed =
    chunk.length < tuning.compressMessageFrom
      ? chunk
      : zstdCompressSync(chunk, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  const isSmaller = packed.length < chunk.length
  writer.byte(isSmaller ? encodings.zstd : encodings.plain).uvarint(chunk.length)
  writeSized(writer, isSmaller ? packed : chunk)
}

/**
 * Reads a chunk. The size that it says is checked before anything is decompressed, and bounds that. Returns what
 * decompresses it, which throws for another size.
 */
export function readPacked(reader: ByteReader): () => Buffer {
  const encoding = reader.byte()
  const size = reader.uvarint()
  if (size > format.chunkBytes) throw new MalformedBytes('a chunk is too large')
  const packed = readSized(reader, format.chunkBytes, 'a chunk')
  if (encoding > encodings.zstd || (encoding === encodings.plain && packed.length !== size))
    throw new MalformedBytes('a chunk of another size')
  return () => (encoding === encodings.zstd ? decompressed(packed, size) : packed)
}

function decompressed(packed: Uint8Array, size: number): Buffer {
  const chunk = unpacked(packed, size)
  if (chunk?.length !== size) throw new MalformedBytes('a chunk that cannot be decompressed, or of another size')
  return chunk
}

function unpacked(packed: Uint8Array, size: number): Buffer | undefined {
  try {
    // One byte more, so that larger contents are seen.
    return zstdDecompressSync(packed, { maxOutputLength: size + 1 })
  } catch {
    return undefined
  }
}

export function writeSized(writer: ByteWriter, bytes: Uint8Array): void {
  writer.uvarint(bytes.length).bytes(bytes)
}

export function readSized(reader: ByteReader, most: number, what: string): Buffer {
  const length = reader.uvarint()
  if (length > most) throw new MalformedBytes(`${what} is too large`)
  return reader.bytes(length)
}

export function writeList<T>(writer: ByteWriter, items: readonly T[], write: (item: T) => void): void {
  writer.uvarint(items.length)
  for (const item of items) write(item)
}

/** Reads a list. Its length is checked against a limit and the bytes that are left, before anything is allocated. */
export function readList<T>(reader: ByteReader, most: number, leastBytes: number, read: () => T): T[] {
  const count = reader.uvarint()
  if (count > most || count * leastBytes > reader.remaining) throw new MalformedBytes('a list is too long')
  return Array.from({ length: count }, read)
}
