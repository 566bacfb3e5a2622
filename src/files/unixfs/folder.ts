import type { CID } from 'multiformats/cid'
import { failure } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { type Block, cumulativeSize, type Link, makeBlock } from './cid-block.ts'

/** A stored file with its path. */
export interface FolderFile {
  readonly path: readonly string[]
  readonly cid: CID
  readonly size: number
}

/** Stores the directories of files, from a level of their paths on. Returns the root with its cumulative size. */
export function storeFolder(
  files: readonly FolderFile[],
  store: (block: Block) => void,
  level = 0,
): { cid: CID; size: number } {
  const entries = new Map<string, FolderFile | FolderFile[]>()
  for (const file of files) {
    const name = file.path[level] ?? ''
    const below = entries.get(name)
    if (file.path.length === level + 1) entries.set(name, file)
    else if (Array.isArray(below)) below.push(file)
    else entries.set(name, [file])
  }
  const links = [...entries].map(([name, entry]): Link => {
    const { cid, size } = Array.isArray(entry) ? storeFolder(entry, store, level + 1) : entry
    return { cid, name, size }
  })
  const block = makeBlock({ type: 'directory' }, sortedByName(links))
  if (block.bytes.length > format.directoryBytes)
    throw failure('ERR_BAD_REQUEST', {
      cause: `A directory with ${links.length} entries takes more than ${format.directoryBytes} bytes.`,
    })
  store(block)
  return { cid: block.cid, size: cumulativeSize(block) }
}

/** Sorts by the UTF-8 bytes of the names, which differs from the order of UTF-16. */
function sortedByName(links: readonly Link[]): Link[] {
  return links
    .map((link) => ({ link, name: Buffer.from(link.name) }))
    .sort((a, b) => a.name.compare(b.name))
    .map(({ link }) => link)
}
