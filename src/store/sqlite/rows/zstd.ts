import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { DamagedData } from './checksum.ts'

const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Compresses a row or a block. */
export function compress(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, level)
}

/** The bytes of that size of which these are the compressed ones. */
export function decompress(packed: Uint8Array, size: number): Buffer {
  // Some room beyond the size: what is larger than it should be is found to be damaged, not cut.
  const bytes = zstdDecompressSync(packed, { chunkSize: Math.max(64, size + 64), maxOutputLength: size + 64 })
  if (bytes.length !== size) throw new DamagedData('decompressed bytes have another size')
  return bytes
}
