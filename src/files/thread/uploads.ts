import { failure, type ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import type { Random } from '../../runtime/random.ts'
import type { Blocks } from '../../store/index.ts'
import {
  type Block,
  type ChunkMemory,
  FileBuilder,
  type FolderFile,
  parseCid,
  type StoredFile,
  storeFolder,
} from '../unixfs/index.ts'
import type { Batches } from './batches.ts'

/** A stored file of an upload. */
export interface UploadedFile {
  readonly path: readonly string[]
  readonly cid: string
  readonly size: number
}

export type UploadId = number

/** Owners of the pins of uploads in progress. Those of an earlier process are left over from a crash. */
const ownerPrefix = 'upload in progress '

interface Upload {
  readonly owner: string
  /** The number of rollbacks when it began. After another one some of its blocks may be lost. */
  readonly rollbacks: number
  file: FileBuilder | undefined
}

/** Uploads in progress. Their blocks are pinned until an event pins them. Without an event they are deleted. */
export class Uploads {
  readonly #blocks: Blocks
  readonly #batches: Batches
  readonly #open = new Map<UploadId, Upload>()
  readonly #process: string
  #nextId = 0

  constructor(blocks: Blocks, batches: Batches, random: Random) {
    this.#blocks = blocks
    this.#batches = batches
    this.#process = random.bytes(6).toString('hex')
  }

  begin(): UploadId {
    const id = this.#nextId++
    const owner = `${ownerPrefix}${this.#process} ${id}`
    this.#open.set(id, { owner, rollbacks: this.#batches.rollbacks, file: undefined })
    return id
  }

  /** Stores the next chunks of a file. All but the last chunk of the file are full. */
  async addChunks(id: UploadId, memory: ChunkMemory, length: number): Promise<void> {
    for (let i = 0; i * format.fileChunkBytes < length; i++) {
      const count = Math.min(format.fileChunkBytes, length - i * format.fileChunkBytes)
      await this.#inBatch(id, (upload) => this.#fileOf(upload).addPadded(memory.chunk(i), count))
    }
  }

  endFile(id: UploadId): Promise<{ cid: string; size: number }> {
    return this.#inBatch(id, (upload) => {
      const { cid, size }: StoredFile = this.#fileOf(upload).finish()
      upload.file = undefined
      return { cid: String(cid), size }
    })
  }

  /** Builds the directories of stored files. */
  makeFolder(id: UploadId, files: readonly UploadedFile[]): Promise<{ cid: string; size: number }> {
    return this.#inBatch(id, ({ owner }) => {
      const { cid, size } = storeFolder(files.flatMap(parsed), this.#storeFor(owner))
      return { cid: String(cid), size }
    })
  }

  /** Resolved when the blocks are committed. */
  async commit(id: UploadId): Promise<void> {
    this.#upload(id)
    await this.#batches.commit()
  }

  /** Deletes the blocks that only this upload pins. */
  end(id: UploadId): void {
    const upload = this.#open.get(id)
    this.#open.delete(id)
    if (upload !== undefined) this.#batches.change(() => this.#blocks.discard(upload.owner))
  }

  /** Deletes blocks that uploads left behind in a crash. To be called once all events have been applied. */
  async discardLeftovers(): Promise<void> {
    const open = new Set([...this.#open.values()].map(({ owner }) => owner))
    const left = this.#blocks.owners(ownerPrefix).filter((owner) => !open.has(owner))
    if (left.length === 0) return
    this.#batches.change(() => {
      for (const owner of left) this.#blocks.discard(owner)
    })
    await this.#batches.commit()
  }

  #fileOf(upload: Upload): FileBuilder {
    upload.file ??= new FileBuilder(this.#storeFor(upload.owner))
    return upload.file
  }

  #storeFor(owner: string): (block: Block) => void {
    return ({ cid, bytes, links }) => {
      const below = links.map((link) => link.cid.bytes)
      this.#batches.count(this.#blocks.putPinned(owner, cid.bytes, bytes, below))
    }
  }

  async #inBatch<T>(id: UploadId, work: (upload: Upload) => T): Promise<T> {
    const upload = this.#upload(id)
    const result = this.#batches.change(() => work(upload))
    if (this.#batches.isFull) await this.#batches.commit()
    return result
  }

  #upload(id: UploadId): Upload {
    const upload = this.#open.get(id)
    if (upload === undefined || upload.rollbacks !== this.#batches.rollbacks) throw lost()
    return upload
  }
}

function parsed({ path, cid, size }: UploadedFile): FolderFile[] {
  const identifier = parseCid(cid)
  return identifier === undefined ? [] : [{ path, cid: identifier, size }]
}

function lost(): ShoalError {
  return failure('ERR_STORAGE', { cause: 'what was stored before it could not be kept' })
}
