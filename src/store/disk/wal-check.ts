import { chmodSync, closeSync, copyFileSync, fstatSync, openSync, readSync, rmSync } from 'node:fs'
import { endianness } from 'node:os'
import { messageOf } from '../../base/errors.ts'

/** Damage that was found while a store was opened. */
export interface StoreDamage {
  /** What is damaged, what is lost and what to do. */
  readonly text: string
  /** False when a power failure could have caused it, without losing acknowledged data. */
  readonly isCertain: boolean
}

/** A broken write-ahead log: commits after the frames that SQLite accepts. */
export interface BrokenWal {
  /** The first broken frame, from 1; 0 for the header of the file. */
  readonly frame: number
  /** Readable commits after it, which SQLite drops. */
  readonly commits: number
  readonly isCertain: boolean
}

const headerBytes = 32
const frameHeaderBytes = 24
/** The last bit of the magic number is set for checksums over big-endian words. */
const magic = 0x377f0682

/**
 * Scans the write-ahead log of a database that is not open. SQLite accepts frames up to the first broken one and
 * silently drops the rest, as it must after a power failure. Must be called before SQLite opens the database, which
 * overwrites the dropped frames.
 *
 * The format (https://sqlite.org/fileformat2.html#the_write_ahead_log), all numbers big-endian: a header of 32 bytes
 * with magic number, version, page size, checkpoint number, two salts and two checksums of these 24 bytes; then frames,
 * each a header of 24 bytes (page number, size of the database for a commit and 0 otherwise, the two salts, two
 * checksums) and a page. The checksums of a frame continue those of the frame before it, over the first 8 bytes of its
 * header and its page. They are stored in the frame, so frames after a broken one can still be verified, each from the
 * one before it. Frames with other salts are from before the last reset of the log.
 *
 * A commit after a broken frame is damage. It is certain when another commit is between the two: with
 * `synchronous=FULL` a commit is on the disk before the next one is written, so all frames up to it had been complete.
 * Otherwise both belong to the last transaction, whose frames a disk may have written in any order when the power
 * failed. Frames without a commit after them belong to a transaction that was rolled back or never ended.
 */
export function scanWal(file: string): BrokenWal | undefined {
  const descriptor = openIfThere(`${file}-wal`)
  if (descriptor === undefined) return undefined
  try {
    const header = readAt(descriptor, 0, headerBytes)
    return header && new WalScan(descriptor, header, pageBytesOf(file)).run()
  } finally {
    closeSync(descriptor)
  }
}

/** The same as text for users. Keeps one copy of the damaged log beside it, the newest. */
export function checkWal(file: string, { keep }: { keep: boolean }): StoreDamage | undefined {
  const broken = scanWal(file)
  if (broken === undefined) return undefined
  const { frame, commits, isCertain } = broken
  const where = frame === 0 ? 'its header' : `frame ${frame}`
  const what = `The write-ahead log \`${file}-wal\` is damaged at ${where}`
  const lost = isCertain
    ? `at least ${commits} ${commits === 1 ? 'commit' : 'commits'} behind it that had been acknowledged ${commits === 1 ? 'is' : 'are'} lost`
    : 'its last commit is dropped. If the power failed during that commit it was never acknowledged, and nothing is lost; if not, it is lost'
  const copy = keep ? ` ${keepCopy(file)}` : ''
  const advice =
    'Check the disk, run `shoal store verify` once the node is stopped, and restore a backup if there is one.'
  return { text: `${what}: ${lost}.${copy} ${advice}`, isCertain }
}

function keepCopy(file: string): string {
  const copy = `${file}-wal.damaged`
  try {
    copyFileSync(`${file}-wal`, copy)
    chmodSync(copy, 0o600)
    return `A copy of it is kept as \`${copy}\`.`
  } catch (error) {
    return `No copy of it could be kept: ${messageOf(error)}.`
  }
}

/** Removes the copy, which may contain redacted payloads. */
export function removeDamagedCopy(file: string): void {
  rmSync(`${file}-wal.damaged`, { force: true })
}

type Sums = readonly [number, number]

class WalScan {
  readonly #descriptor: number
  readonly #header: Buffer
  readonly #frameBytes: number
  readonly #frames: number
  #isBigEndian: boolean
  #salts: Buffer

  constructor(descriptor: number, header: Buffer, databasePageBytes: number) {
    this.#descriptor = descriptor
    this.#header = header
    this.#isBigEndian = header.readUInt32BE(0) === magic + 1
    this.#salts = header.subarray(16, 24)
    const pageBytes = this.#isHeaderValid ? header.readUInt32BE(8) : databasePageBytes
    this.#frameBytes = frameHeaderBytes + pageBytes
    this.#frames = Math.floor((fstatSync(descriptor).size - headerBytes) / this.#frameBytes)
  }

  run(): BrokenWal | undefined {
    if (!this.#isHeaderValid) {
      // SQLite uses the native byte order.
      this.#isBigEndian = endianness() === 'BE'
      return this.#commitsAfter(0)
    }
    let sums = sumsAt(this.#header, 24)
    for (let frame = 1; frame <= this.#frames; frame++) {
      const bytes = this.#read(frame)
      if (!this.#isValid(bytes, sums)) return this.#commitsAfter(frame)
      sums = sumsAt(bytes, 16)
    }
    return undefined
  }

  get #isHeaderValid(): boolean {
    const [number, pageBytes] = [this.#header.readUInt32BE(0), this.#header.readUInt32BE(8)]
    if ((number & ~1) !== magic || pageBytes < 512 || pageBytes > 65536 || (pageBytes & (pageBytes - 1)) !== 0)
      return false
    const expected = this.#sums(this.#header.subarray(0, 24), [0, 0])
    return isSame(expected, sumsAt(this.#header, 24))
  }

  /** Finds commits after a broken frame or header. */
  #commitsAfter(broken: number): BrokenWal | undefined {
    let commits = 0
    let isCertain = false
    let boundary = broken === 0
    let before = broken === 0 ? undefined : this.#read(broken)
    if (before !== undefined) boundary = this.#isCommit(before)
    for (let frame = broken + 1; frame <= this.#frames; frame++) {
      const bytes = this.#read(frame)
      // Without a header, the salts have to match between adjacent frames.
      if (broken === 0) this.#salts = bytes.subarray(8, 16)
      if (before !== undefined && this.#isValid(bytes, sumsAt(before, 16)) && this.#isCommit(bytes)) {
        commits++
        isCertain ||= boundary
      }
      boundary ||= this.#isCommit(bytes)
      before = bytes
    }
    return commits === 0 ? undefined : { frame: broken, commits, isCertain }
  }

  #read(frame: number): Buffer {
    const at = headerBytes + (frame - 1) * this.#frameBytes
    return readAt(this.#descriptor, at, this.#frameBytes) ?? Buffer.alloc(this.#frameBytes)
  }

  #isCommit(bytes: Buffer): boolean {
    return bytes.readUInt32BE(4) !== 0 && this.#hasSalts(bytes)
  }

  #hasSalts(bytes: Buffer): boolean {
    return bytes.subarray(8, 16).equals(this.#salts)
  }

  #isValid(bytes: Buffer, before: Sums): boolean {
    if (bytes.readUInt32BE(0) === 0 || !this.#hasSalts(bytes)) return false
    const sums = this.#sums(bytes.subarray(frameHeaderBytes), this.#sums(bytes.subarray(0, 8), before))
    return isSame(sums, sumsAt(bytes, 16))
  }

  #sums(bytes: Buffer, [first, second]: Sums): Sums {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const isLittleEndian = !this.#isBigEndian
    let [a, b] = [first, second]
    for (let at = 0; at < bytes.length; at += 8) {
      a = (a + view.getUint32(at, isLittleEndian) + b) >>> 0
      b = (b + view.getUint32(at + 4, isLittleEndian) + a) >>> 0
    }
    return [a, b]
  }
}

function sumsAt(bytes: Buffer, at: number): Sums {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
}

function isSame(a: Sums, b: Sums): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

/** The page size in the header of a database, or the default of SQLite. */
function pageBytesOf(file: string): number {
  const descriptor = openIfThere(file)
  if (descriptor === undefined) return 4096
  try {
    const stored = readAt(descriptor, 16, 2)?.readUInt16BE(0) ?? 4096
    return stored === 1 ? 65536 : Math.max(512, stored)
  } finally {
    closeSync(descriptor)
  }
}

function readAt(descriptor: number, at: number, length: number): Buffer | undefined {
  const bytes = Buffer.alloc(length)
  return readSync(descriptor, bytes, 0, length, at) === length ? bytes : undefined
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
