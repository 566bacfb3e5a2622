import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, zstdDecompressSync } from 'node:zlib'

/** A place where a text was found. */
export interface Finding {
  readonly file: string
  readonly offset: number
  /** As it is, or in a zstd frame. */
  readonly as: 'bytes' | 'zstd'
}

const magic = Buffer.from('28b52ffd', 'hex')
const walMagics = [0x377f0682, 0x377f0683]
const [walHeader, walFrameHeader] = [32, 24]
/** Upper bound of the bytes of a frame that are decompressed. */
const frameBytes = 4 * 1024 * 1024

/**
 * Searches all files of a folder for a text: as it is, and in every zstd frame that begins at any byte. Frames in
 * SQLite databases and write-ahead logs are also followed through chains of overflow pages, in free pages as well.
 * The folder must be that of another process: reading a database file would release the locks of this one.
 */
export function searchFolder(folder: string, text: string): Finding[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const read = new Map(files.flatMap(({ parentPath, name }) => contents(join(parentPath, name))))
  return [...read].flatMap(([file, bytes]) => searchFile(file, bytes, read, Buffer.from(text)))
}

/** A file may have been removed meanwhile. */
function contents(file: string): [string, Buffer][] {
  try {
    return [[file, readFileSync(file)]]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function searchFile(file: string, bytes: Buffer, all: ReadonlyMap<string, Buffer>, text: Buffer): Finding[] {
  const found: Finding[] = [...positions(bytes, text)].map((offset) => ({ file, offset, as: 'bytes' }))
  // A decoder refuses every other offset at once: a frame begins with these four bytes.
  for (const offset of positions(bytes, magic))
    if (plainText(bytes.subarray(offset, offset + frameBytes)).includes(text)) found.push({ file, offset, as: 'zstd' })
  const database = file.endsWith('-wal') ? all.get(file.slice(0, -'-wal'.length)) : bytes
  const pages = new PageCopies(database ?? Buffer.alloc(0), all.get(`${file.replace(/-wal$/, '')}-wal`))
  for (const { bytes: page, at } of pages.copiesIn(bytes))
    for (const frame of pages.frames(page))
      if (plainText(frame).includes(text)) found.push({ file, offset: at, as: 'zstd' })
  return found
}

function* positions(bytes: Buffer, searched: Buffer): Generator<number> {
  for (let at = bytes.indexOf(searched); at >= 0; at = bytes.indexOf(searched, at + 1)) yield at
}

/** What can be decompressed of a frame, which may be cut. */
function plainText(frame: Buffer): Buffer {
  try {
    return zstdDecompressSync(frame, { finishFlush: constants.ZSTD_e_continue, maxOutputLength: 64 * 1024 * 1024 })
  } catch {
    return Buffer.alloc(0)
  }
}

interface PageCopy {
  readonly bytes: Buffer
  /** Its position in its file. */
  readonly at: number
}

/** The pages of a database in its file and in its write-ahead log, with all copies of each. */
class PageCopies {
  readonly #pageBytes: number
  readonly #copies = new Map<number, Buffer[]>()

  constructor(database: Buffer, wal: Buffer | undefined) {
    this.#pageBytes = pageBytesOf(database) ?? (wal && pageBytesOf(wal)) ?? 0
    for (const file of [database, wal ?? Buffer.alloc(0)])
      for (const { number, bytes } of this.copiesIn(file)) {
        const copies = this.#copies.get(number) ?? []
        this.#copies.set(number, copies)
        copies.push(bytes)
      }
  }

  /** The pages in a file: a database, or its log. */
  *copiesIn(file: Buffer): Generator<PageCopy & { readonly number: number }> {
    const size = this.#pageBytes
    if (size === 0) return
    const isWal = file.length >= walHeader && walMagics.includes(file.readUInt32BE(0))
    const [start, gap] = isWal ? [walHeader, walFrameHeader] : [0, 0]
    for (let at = start; at + gap + size <= file.length; at += gap + size) {
      const number = isWal ? file.readUInt32BE(at) : at / size + 1
      yield { number, bytes: file.subarray(at + gap, at + gap + size), at: at + gap }
    }
  }

  /** Frames that begin in a page and continue in overflow pages. */
  *frames(page: Buffer): Generator<Buffer> {
    for (const pick of [0, -1]) {
      // As an overflow page: it begins with the number of the next one.
      const chain = Buffer.concat([page.subarray(4), ...this.#chain(page.readUInt32BE(0), pick)])
      for (const at of positions(chain.subarray(0, page.length), magic)) yield chain.subarray(at)
      // As a page of a table: a row ends with the number of its first overflow page, somewhere after the frame begins.
      for (const at of positions(page, magic))
        for (let end = at + 4; end + 4 <= page.length; end++) {
          const next = page.readUInt32BE(end)
          if (next > 1 && this.#copies.has(next))
            yield Buffer.concat([page.subarray(at, end), ...this.#chain(next, pick)])
        }
    }
  }

  /** The content of a chain of overflow pages, from the oldest or the newest copy of each. */
  #chain(first: number, pick: number): Buffer[] {
    const parts: Buffer[] = []
    const seen = new Set<number>()
    for (let next = first; !seen.has(next) && parts.length * this.#pageBytes < frameBytes; ) {
      const page = this.#copies.get(next)?.at(pick)
      if (page === undefined) break
      seen.add(next)
      parts.push(page.subarray(4))
      next = page.readUInt32BE(0)
    }
    return parts
  }
}

function pageBytesOf(file: Buffer): number | undefined {
  if (file.length < 100) return undefined
  if (walMagics.includes(file.readUInt32BE(0))) return file.readUInt32BE(8)
  return file.toString('latin1', 0, 15) === 'SQLite format 3' ? file.readUInt16BE(16) : undefined
}
