import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { nowMs } from '../../runtime/clock.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import {
  BackgroundReporter,
  type BlockNotice,
  BlockStore,
  type BlockUsage,
  type CacheLimits,
  type CountFile,
  DiskReserve,
  type DiskSpace,
  type DiskSync,
  diskSpace,
  diskSync,
  openCheckedBlocks,
  Registers,
  rewriteBlockVersion,
  Slots,
  type StoreDamage,
  slotsFile,
  storageError,
} from '../../store/index.ts'
import type { KeyedFact } from '../facts.ts'
import { ChunkMemory, MalformedUnixFs, parseCid } from '../unixfs/index.ts'
import { Batches } from './batches.ts'
import { Catalogue, type StandingQuery } from './catalogue.ts'
import { type Content, ContentReader, type MissingBlock, type Resolved } from './content.ts'
import { FetchedBlocks } from './fetched-blocks.ts'
import { type ArrivedBlock, type AskedBlock, type BlockLink, SharedBlocks } from './shared-blocks.ts'
import { type UploadedFile, type UploadId, Uploads } from './uploads.ts'

/** The result of resolving an address. */
export interface Found {
  /** The kind of the first path segment; undefined if it is neither. */
  readonly by: 'cid' | 'name' | undefined
  /** Whether the website requires a token. */
  readonly isPrivate?: boolean
  /** Undefined if it does not exist, or a block is missing. */
  readonly content: Content | undefined
  /** The CID of the missing block. */
  readonly missing?: string
}

/** Pinned content; without a size if its root block is missing. */
export interface PinnedContent {
  readonly cid: string
  readonly size?: number
}

/** A name with its content. */
export interface NamedContent extends PinnedContent {
  readonly name: string
}

export interface FileStoreOptions {
  readonly sync?: DiskSync
  /** Receives failures of background work. */
  readonly background?: BackgroundReporter
  /** The space of the disk. */
  readonly space?: () => DiskSpace
  /** Sends a notice to the main thread. */
  readonly notify?: (notice: ArrivedBlock) => void
}

/** Database pages that are vacuumed per call, so that other calls get their turn. */
const freedPagesPerTurn = 128

/**
 * The store of the files thread. A call has to be settled before the next one is made: while one waits for an fsync,
 * its transaction is open.
 */
export class FileStore {
  readonly #database: DatabaseSync
  readonly #slots: Slots
  readonly #blocks: BlockStore
  readonly #batches: Batches
  readonly #registers: Registers
  readonly #catalogue: Catalogue
  readonly #uploads: Uploads
  readonly #contents: ContentReader
  readonly #fetched: FetchedBlocks
  readonly #shared: SharedBlocks

  /** Damage that was found when the store was opened. */
  readonly damage: readonly StoreDamage[]
  readonly #countFile: CountFile

  constructor(file: string, { clock, random }: Pick<Runtime, 'clock' | 'random'>, options: FileStoreOptions = {}) {
    const { sync = diskSync, background = new BackgroundReporter() } = options
    const { space = () => diskSpace(file), notify = () => {} } = options
    const { database, damage, countFile } = openCheckedBlocks(file, sync, background)
    this.damage = damage
    this.#countFile = countFile
    this.#database = database
    this.#slots = new Slots(slotsFile(file), this.#database, sync)
    this.#blocks = new BlockStore(this.#database, this.#slots, () => nowMs(clock))
    this.#batches = new Batches(this.#database, this.#slots, countFile)
    this.#registers = new Registers(this.#database)
    this.#catalogue = new Catalogue(this.#blocks, this.#registers)
    this.#uploads = new Uploads(this.#blocks, this.#batches, random)
    this.#contents = new ContentReader(this.#blocks)
    const reserve = new DiskReserve(space)
    const blocks = this.#blocks
    this.#fetched = new FetchedBlocks({ blocks, batches: this.#batches, reserve, background })
    this.#shared = new SharedBlocks({ blocks, fetched: this.#fetched, background, notify })
  }

  beginUpload(): UploadId {
    return this.#uploads.begin()
  }

  /** Stores chunks. Returns their buffer for reuse. */
  async addChunks(id: UploadId, memory: ArrayBuffer, length: number): Promise<ArrayBuffer> {
    assert(length > 0 && length <= memory.byteLength, 'chunks fit into their buffer')
    await this.#uploads.addChunks(id, new ChunkMemory(memory), length)
    return memory
  }

  endFile(id: UploadId): Promise<{ cid: string; size: number }> {
    return this.#uploads.endFile(id)
  }

  makeFolder(id: UploadId, files: readonly UploadedFile[]): Promise<{ cid: string; size: number }> {
    return this.#uploads.makeFolder(id, files)
  }

  async commitUpload(id: UploadId): Promise<void> {
    await this.#uploads.commit(id)
    this.#shared.notifyAdded()
  }

  /** Ends an upload. Blocks that no event pins are deleted. */
  endUpload(id: UploadId): void {
    this.#uploads.end(id)
  }

  discardLeftovers(): Promise<void> {
    return this.#uploads.discardLeftovers()
  }

  /** Resolves a CID or a name, and a path below it. */
  find(root: string, path: readonly string[]): Found {
    const cid = parseCid(root)
    if (cid !== undefined) return { by: 'cid', ...unlessMalformed(() => this.#contents.find(cid, path)) }
    return this.#findNamed(this.#catalogue.cidOf(root), path)
  }

  /** Resolves a path of a website. */
  findSite(host: string, path: readonly string[]): Found {
    const name = this.#catalogue.nameOfHost(host)
    if (name === undefined) return { by: undefined, content: undefined }
    return { ...this.#findNamed(this.#catalogue.cidOf(name), path), isPrivate: this.#catalogue.isPrivate(name) }
  }

  /** The bytes of a file from an offset to the end of its block, or the missing block. */
  read(file: string, offset: number): Uint8Array | MissingBlock | undefined {
    return this.#contents.read(file, offset)
  }

  /** Makes a link for the thread that exchanges blocks with other nodes. It replaces an earlier one. */
  link(post: (notice: BlockNotice) => void): BlockLink {
    return this.#shared.link(post)
  }

  /** A download waits for a missing block. */
  askBlock(cid: Uint8Array): AskedBlock {
    return this.#shared.ask(cid)
  }

  /** No download waits for a block any more. */
  unaskBlock(cid: Uint8Array): void {
    this.#shared.unask(cid)
  }

  /** Reports whether there is room again for wanted blocks. */
  checkRoom(): void {
    this.#fetched.checkRoom()
  }

  cidOf(name: string): string | undefined {
    return this.#catalogue.cidOf(name)
  }

  isUploaded(cid: string): boolean {
    return this.#catalogue.isUploaded(cid)
  }

  names(): NamedContent[] {
    return this.#catalogue.names.map(([name, cid]) => ({ name, ...this.#pinned(cid) }))
  }

  /** Uploads without a name, the newest first. */
  unnamedUploads(): PinnedContent[] {
    return this.#catalogue.unnamedUploads(limits.uploadsListed).map((cid) => this.#pinned(cid))
  }

  queries(): StandingQuery[] {
    return this.#catalogue.queries
  }

  /** The offsets up to which events have been applied. */
  appliedOffsets(): Record<string, number> {
    return this.#registers.followed()
  }

  /** Applies facts. With offsets, commits that all events up to there have been applied. */
  async apply(facts: readonly KeyedFact[], offsets?: Readonly<Record<string, number>>): Promise<void> {
    this.#batches.change(() => {
      for (const fact of facts) this.#catalogue.apply(fact)
      if (offsets !== undefined) this.#registers.follow(offsets)
    })
    if (offsets !== undefined) await this.#batches.commit()
    this.#shared.notifyWants()
  }

  async pinResults(app: string, cids: readonly string[]): Promise<void> {
    this.#batches.change(() => this.#catalogue.pinResults(app, cids))
    await this.#batches.commit()
    this.#shared.notifyWants()
  }

  async pinMoreResults(app: string, cids: readonly string[]): Promise<void> {
    this.#batches.change(() => this.#catalogue.pinMoreResults(app, cids))
    await this.#batches.commit()
    this.#shared.notifyWants()
  }

  /** Evicts some unpinned blocks above the cache limits. Returns whether there are more. */
  async collect(cache: CacheLimits): Promise<boolean> {
    const more = this.#batches.change(() => this.#blocks.collect(cache))
    await this.#batches.commit()
    return more || (await this.#shrink())
  }

  /** Returns some free space to the file system. Returns whether there is more. */
  async #shrink(): Promise<boolean> {
    const more = this.#batches.change(() => this.#blocks.compactSlots())
    await this.#batches.commit()
    try {
      this.#slots.truncate()
      this.#database.exec(`PRAGMA incremental_vacuum(${freedPagesPerTurn})`)
    } catch (error) {
      throw storageError(error, this.#database.location() ?? '')
    }
    return more || Number(this.#database.prepare('PRAGMA freelist_count').get()?.['freelist_count']) > 0
  }

  /** A write without effect, to find out whether the disk works. */
  async probe(): Promise<void> {
    this.#batches.change(() => rewriteBlockVersion(this.#database))
    await this.#batches.commit()
  }

  /** Keeps the content of all slots until `releaseSlots`, so that another thread can read a snapshot of the blocks. */
  holdSlots(): void {
    this.#slots.hold()
  }

  /** Returns whether the slots were held all the time. */
  releaseSlots(): boolean {
    return this.#slots.release()
  }

  usage(): BlockUsage {
    return this.#blocks.usage()
  }

  #pinned(cid: string): PinnedContent {
    const size = this.find(cid, []).content?.size
    return { cid, ...(size !== undefined && { size }) }
  }

  #findNamed(named: string | undefined, path: readonly string[]): Found {
    const cid = parseCid(named ?? '')
    if (cid === undefined) return { by: undefined, content: undefined }
    return { by: 'name', ...unlessMalformed(() => this.#contents.find(cid, path)) }
  }

  async close(): Promise<void> {
    this.#shared.close()
    try {
      await this.#batches.commit()
      this.#countFile.close()
    } finally {
      await this.#slots.close()
      this.#database.close()
    }
  }
}

/** Malformed content counts as missing. */
function unlessMalformed(find: () => Resolved): Resolved {
  try {
    return find()
  } catch (error) {
    if (error instanceof MalformedUnixFs) return { content: undefined }
    throw error
  }
}
