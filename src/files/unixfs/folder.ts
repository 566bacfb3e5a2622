import type { CID } from 'multiformats/cid'
import { failure } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { type Block, cumulativeSize, type Link, makeBlock } from './cid-block.ts'

/** A file that is stored already, by its path. */
export interface FolderFile {
  readonly path: readonly string[]
  readonly cid: CID
  readonly size: number
}

/** Stores the directories above files, from a level on; answers with the topmost of them, and what it takes up. */
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

/** By the bytes of the names, which is not the order of their UTF-16. */
function sortedByName(links: readonly Link[]): Link[] {
  return links
    .map((link) => ({ link, name: Buffer.from(link.name) }))
    .sort((a, b) => a.name.compare(b.name))
    .map(({ link }) => link)
}
