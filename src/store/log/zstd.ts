import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  type ZstdCompress,
  type ZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { DamagedData } from './checksum.ts'

/**
 * Compresses rows and blocks, and back. The functions of Node make a context for every call and give it up again, which
 * takes as long as the work itself for what is as small as a block. So each thread keeps a context, behind a stream that
 * nothing flows through, and hands it whole pieces. That way in is not documented: where it is not there, the functions
 * of Node do the same.
 */
const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** What is inside of the streams of `node:zlib`. */
interface Inside {
  readonly _handle?: {
    writeSync(how: number, from: Uint8Array, at: number, size: number, to: Uint8Array, toAt: number, room: number): void
  } | null
  /** Afterwards: bytes of room, and of input, that are left. */
  readonly _writeState?: Uint32Array
}

type Stream = (ZstdCompress | ZstdDecompress) & Inside

const unknown = 0xffffffff

/** A context, and a new one after each failure: what is left of a broken piece is never taken for a part of the next. */
export class KeptContext {
  readonly #make: () => Stream
  #stream: Stream | undefined

  constructor(make: () => Stream) {
    this.#make = make
  }

  /**
   * Works through a whole piece. Answers how many bytes came of it; nothing when something is wrong, or when they take all
   * of the room, since there may be more of them then.
   */
  run(from: Uint8Array, to: Uint8Array): number | undefined {
    const { _handle: handle, _writeState: left } = this.#opened()
    if (handle == null || left === undefined) return undefined
    // After a failure they are as they were.
    left.fill(unknown)
    handle.writeSync(constants.ZSTD_e_end, from, 0, from.length, to, 0, to.length)
    const [room, unread] = left as unknown as [number, number]
    if (unread === 0 && room > 0) return to.length - room
    this.drop()
    return undefined
  }

  /** Begins anew with the next piece: this one was not what it should be. */
  drop(): void {
    this.#stream?.destroy()
  }

  #opened(): Inside {
    if (this.#stream === undefined || this.#stream.destroyed) {
      this.#stream = this.#make()
      // Whoever called is told: the stream is no longer of use.
      this.#stream.on('error', () => {})
    }
    return this.#stream
  }
}

const compressing = new KeptContext(() => createZstdCompress(level))
const decompressing = new KeptContext(() => createZstdDecompress())

/** Room for what is compressed. Larger pieces have their own. */
const room = Buffer.allocUnsafeSlow(256 * 1024)

/** The compressed bytes, good until the next ones. */
export function compress(bytes: Uint8Array): Buffer {
  const most = mostCompressed(bytes.length)
  const to = most <= room.length ? room : Buffer.allocUnsafeSlow(most)
  const length = compressing.run(bytes, to)
  return length === undefined ? zstdCompressSync(bytes, level) : to.subarray(0, length)
}

/** With room for all that can come of it, nothing is copied on the way. */
function mostCompressed(length: number): number {
  return length + (length >>> 8) + 128
}

/** Room that what comes back needs: with all of it taken there might be more. */
export function roomFor(size: number): number {
  return size + 1
}

/** The bytes of that size of which these are the compressed ones, in the room for them if there is one. */
export function decompress(packed: Uint8Array, size: number, into?: Buffer): Buffer {
  const bytes = into ?? Buffer.allocUnsafeSlow(roomFor(size))
  if (decompressing.run(packed, bytes) === size) return bytes.subarray(0, size)
  decompressing.drop()
  // Again with a context of its own, which also says what is wrong.
  const whole = zstdDecompressSync(packed, { chunkSize: Math.max(64, size + 64), maxOutputLength: size + 64 })
  if (whole.length !== size) throw new DamagedData('decompressed bytes have another size')
  return whole
}
