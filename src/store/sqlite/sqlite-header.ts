import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** What the first page of a database says about what the file is. */
export interface FileFormat {
  readonly applicationId: number
  readonly userVersion: number
}

const headerBytes = 100
const places = { userVersion: 60, applicationId: 68 } as const
const walHeaderBytes = 32
const frameHeaderBytes = 24

/**
 * Reads the format of a database without opening it: opening would leave files beside it, and closing would fold a
 * write-ahead log back. Nothing when there is no database yet.
 */
export function formatOf(file: string): FileFormat | undefined {
  const page = withFile(`${file}-wal`, newestFirstPage) ?? withFile(file, (read) => read(0, headerBytes))
  if (page === undefined) return undefined
  return { userVersion: page.readInt32BE(places.userVersion), applicationId: page.readInt32BE(places.applicationId) }
}

/** The bytes from a place on; nothing when there are not as many. */
type Read = (at: number, length: number) => Buffer | undefined

/** The start of the first page as the last commit in a write-ahead log has left it, if one has. */
function newestFirstPage(read: Read): Buffer | undefined {
  const header = read(0, walHeaderBytes)
  if (header === undefined) return undefined
  const frameBytes = frameHeaderBytes + header.readUInt32BE(8)
  const salt = header.subarray(16, 24)
  let committed: number | undefined
  let found: number | undefined
  for (let at = walHeaderBytes; ; at += frameBytes) {
    const frame = read(at, frameHeaderBytes)
    // What follows is left from before, or was never written.
    if (frame === undefined || !frame.subarray(8, 16).equals(salt)) break
    if (frame.readUInt32BE(0) === 1) found = at + frameHeaderBytes
    if (frame.readUInt32BE(4) !== 0) committed = found
  }
  return committed === undefined ? undefined : read(committed, headerBytes)
}

function withFile<T>(file: string, work: (read: Read) => T): T | undefined {
  const descriptor = openIfThere(file)
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

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
