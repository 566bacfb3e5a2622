import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The format of a database file, from the header on its first page. */
export interface FileFormat {
  readonly applicationId: number
  readonly userVersion: number
}

const headerBytes = 100
/** Positions in the header. */
const positions = { userVersion: 60, applicationId: 68 } as const
const walHeaderBytes = 32
const frameHeaderBytes = 24

/**
 * Reads the format of a database without opening it: opening would create files beside it, and closing would checkpoint
 * its write-ahead log. Undefined when there is no database yet.
 */
export function formatOf(file: string): FileFormat | undefined {
  const page = withFile(`${file}-wal`, newestFirstPage) ?? withFile(file, (read) => read(0, headerBytes))
  if (page === undefined) return undefined
  const { userVersion, applicationId } = positions
  return { userVersion: page.readInt32BE(userVersion), applicationId: page.readInt32BE(applicationId) }
}

/** Reads bytes at a position; undefined beyond the end of the file. */
type Read = (at: number, length: number) => Buffer | undefined

/** The header as of the last commit in a write-ahead log; undefined when no commit has written it. */
function newestFirstPage(read: Read): Buffer | undefined {
  const header = read(0, walHeaderBytes)
  if (header === undefined) return undefined
  const frameBytes = frameHeaderBytes + header.readUInt32BE(8)
  const salt = header.subarray(16, 24)
  let committed: number | undefined
  let found: number | undefined
  for (let at = walHeaderBytes; ; at += frameBytes) {
    const frame = read(at, frameHeaderBytes)
    // The end of the log: the rest is stale or was never written.
    if (frame === undefined || !frame.subarray(8, 16).equals(salt)) break
    if (frame.readUInt32BE(0) === 1) found = at + frameHeaderBytes
    if (frame.readUInt32BE(4) !== 0) committed = found
  }
  return committed === undefined ? undefined : read(committed, headerBytes)
}

function withFile<T>(file: string, work: (read: Read) => T): T | undefined {
  const descriptor = openIfExists(file)
  if (descriptor === undefined) return undefined
  try {
    const { size } = fstatSync(descriptor)
    return work((at, length) => {
      if (at + length > size) return undefined
      const bytes = Buffer.alloc(length)
      return readSync(descriptor, bytes, 0, length, at) === length ? bytes : undefined
    })
  } finally {
    closeSync(descriptor)
  }
}

function openIfExists(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
