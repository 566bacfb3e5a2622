import { randomBytes } from 'node:crypto'
import { failure, type ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
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

/** A file of an upload that is stored, by its path. */
export interface UploadedFile {
  readonly path: readonly string[]
  readonly cid: string
  readonly size: number
}

export type UploadId = number

/** Pins of uploads that are under way; those of an earlier process are left from a crash. */
const ownerPrefix = 'upload in progress '

interface Upload {
  readonly owner: string
  /** Losses before it began: after another one, some of its blocks may be gone. */
  readonly losses: number
  file: FileBuilder | undefined
}

/** Uploads that are under way. Their blocks are held until an event holds them, and gone when it never comes to that. */
export class Uploads {
  readonly #blocks: Blocks
  readonly #batches: Batches
  readonly #open = new Map<UploadId, Upload>()
  readonly #process = randomBytes(6).toString('hex')
  #nextId = 0

  constructor(blocks: Blocks, batches: Batches) {
    this.#blocks = blocks
    this.#batches = batches
  }

  begin(): UploadId {
    const id = this.#nextId++
    const owner = `${ownerPrefix}${this.#process} ${id}`
    this.#open.set(id, { owner, losses: this.#batches.losses, file: undefined })
    return id
  }

  /** Stores the next bytes of a file: full chunks but for the last one of the file. */
  async addChunks(id: UploadId, memory: ChunkMemory, length: number): Promise<void> {
    for (let i = 0; i * format.fileChunkBytes < length; i++) {
      const count = Math.min(format.fileChunkBytes, length - i * format.fileChunkBytes)
      await this.#change(id, (upload) => this.#fileOf(upload).addRoomy(memory.chunk(i), count))
    }
  }

  endFile(id: UploadId): Promise<{ cid: string; size: number }> {
    return this.#change(id, (upload) => {
      const { cid, size }: StoredFile = this.#fileOf(upload).finish()
      upload.file = undefined
      return { cid: String(cid), size }
    })
  }

  /** Makes the directories above files that are stored. */
  makeFolder(id: UploadId, files: readonly UploadedFile[]): Promise<{ cid: string; size: number }> {
    return this.#change(id, ({ owner }) => {
      const { cid, size } = storeFolder(files.flatMap(parsed), this.#storeFor(owner))
      return { cid: String(cid), size }
    })
  }

  /** Its blocks are stored for good when this is fulfilled. */
  async commit(id: UploadId): Promise<void> {
    this.#upload(id)
    await this.#batches.commit()
  }

  /** Gives up what the upload alone holds. */
  end(id: UploadId): void {
    const upload = this.#open.get(id)
    this.#open.delete(id)
    if (upload !== undefined) this.#batches.change(() => this.#blocks.discard(upload.owner))
  }

  /** Gives up what uploads have left that a crash has ended. To be called when all events are known. */
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

  async #change<T>(id: UploadId, work: (upload: Upload) => T): Promise<T> {
    const upload = this.#upload(id)
    const result = this.#batches.change(() => work(upload))
    if (this.#batches.isFull) await this.#batches.commit()
    return result
  }

  #upload(id: UploadId): Upload {
    const upload = this.#open.get(id)
    if (upload === undefined || upload.losses !== this.#batches.losses) throw lost()
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
