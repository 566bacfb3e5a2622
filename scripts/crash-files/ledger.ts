import { format } from '../../src/base/format.ts'
import { FileBuilder, type FolderFile, storeFolder } from '../../src/files/unixfs/index.ts'

/** A report of a victim: an operation begins, or is acknowledged. */
export type Step =
  | { readonly step: 'begin'; readonly action: Action }
  | { readonly step: 'done'; readonly action: Action; readonly cid?: string }

export type Action =
  | { readonly kind: 'upload'; readonly content: number }
  | { readonly kind: 'name'; readonly name: string; readonly content: number | undefined }
  | { readonly kind: 'remove'; readonly content: number }
  | { readonly kind: 'collect' }

/** The files of an upload, derived from a number. Uploads with similar numbers share blocks. */
export function filesOf(content: number): Map<string, Buffer> {
  const common = Buffer.alloc(format.fileChunkBytes + 7, content % 3)
  const own = Buffer.alloc(2 * format.fileChunkBytes + (content % 1000), content % 251)
  own.writeUInt32LE(content, 5)
  return new Map([
    ['common', common],
    ['sub/own', own],
    ['sub/small', Buffer.from(`small ${content}`)],
  ])
}

interface UploadBlocks {
  readonly cid: string
  readonly blocks: ReadonlySet<string>
}

const made = new Map<number, UploadBlocks>()

/** The CID of such an upload, and all of its blocks. */
export function blocksOf(content: number): UploadBlocks {
  const found = made.get(content) ?? makeBlocks(content)
  made.set(content, found)
  return found
}

function makeBlocks(content: number): UploadBlocks {
  const blocks = new Set<string>()
  const store = ({ cid }: { cid: unknown }): unknown => blocks.add(String(cid))
  const files: FolderFile[] = [...filesOf(content)].map(([path, bytes]) => {
    const builder = new FileBuilder(store)
    for (let at = 0; at < bytes.length; at += format.fileChunkBytes)
      builder.add(bytes.subarray(at, at + format.fileChunkBytes))
    return { path: path.split('/'), ...builder.finish() }
  })
  return { cid: String(storeFolder(files, store).cid), blocks }
}

/** Everything that was acknowledged, and the operation that was pending at the last kill. */
export class FilesLedger {
  readonly kept = new Set<number>()
  readonly names = new Map<string, number>()
  readonly acknowledged = { uploads: 0, namings: 0, removals: 0, collections: 0 }
  /** The pending operation: begun and not acknowledged. */
  open: Action | undefined

  add({ step, action }: Step): void {
    this.open = step === 'begin' ? action : undefined
    if (step === 'done') this.#apply(action)
  }

  /** Records that the pending operation has taken effect. */
  settle(): void {
    if (this.open !== undefined) this.#apply(this.open)
    this.open = undefined
  }

  #apply(action: Action): void {
    switch (action.kind) {
      case 'upload':
        this.kept.add(action.content)
        this.acknowledged.uploads++
        break
      case 'name':
        if (action.content === undefined) this.names.delete(action.name)
        else this.names.set(action.name, action.content)
        this.acknowledged.namings++
        break
      case 'remove':
        this.kept.delete(action.content)
        this.acknowledged.removals++
        break
      case 'collect':
        this.acknowledged.collections++
    }
  }
}
