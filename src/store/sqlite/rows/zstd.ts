import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { DamagedData } from './checksum.ts'

const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function compress(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, level)
}

/** Decompresses bytes. Throws unless they have the expected size. */
export function decompress(packed: Uint8Array, size: number): Buffer {
  // With room beyond the size, so that too large contents are detected instead of truncated.
  const bytes = zstdDecompressSync(packed, { chunkSize: Math.max(64, size + 64), maxOutputLength: size + 64 })
  if (bytes.length !== size) throw new DamagedData(`decompressed data has ${bytes.length} bytes, expected ${size}`)
  return bytes
}
