import type { CID } from 'multiformats/cid'
import { failure } from '../../errors.ts'
import { limits } from '../../limits.ts'
import { type Block, cumulativeSize, type Link, makeBlock } from './block.ts'

/** A file that is stored already, by its path. */
export interface FolderFile {
  readonly path: readonly string[]
  readonly cid: CID
  readonly size: number
}

/** Stores the directories above files; answers with the topmost, and what it takes up. */
export function storeFolder(files: readonly FolderFile[], store: (block: Block) => void): { cid: CID; size: number } {
  const entries = new Map<string, FolderFile | FolderFile[]>()
  for (const { path, cid, size } of files) {
    const [name = '', ...rest] = path
    const file = { path: rest, cid, size }
    const below = entries.get(name)
    if (rest.length === 0) entries.set(name, file)
    else if (Array.isArray(below)) below.push(file)
    else entries.set(name, [file])
  }
  const links = [...entries].map(([name, entry]): Link => {
    const { cid, size } = Array.isArray(entry) ? storeFolder(entry, store) : entry
    return { cid, name, size }
  })
  const block = makeBlock({ type: 'directory' }, sortedByName(links))
  if (block.bytes.length > limits.directoryBytes)
    throw failure('ERR_BAD_REQUEST', {
      cause: `A directory with ${links.length} entries takes more than ${limits.directoryBytes} bytes.`,
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
