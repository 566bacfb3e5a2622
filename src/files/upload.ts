import { failure } from '../base/errors.ts'
import { format } from '../base/format.ts'
import { tuning } from '../base/tuning.ts'
import type { CalledThread } from '../store/index.ts'
import type { GivingWay } from './giving-way.ts'
import type { FileStore, UploadedFile } from './thread/index.ts'
import { ChunkMemory } from './unixfs/index.ts'
import { UploadPaths } from './upload-paths.ts'

/** What an upload has become. */
export interface Uploaded {
  /** The path of a single file; nothing for a directory. */
  readonly file: string | undefined
  readonly cid: string
  readonly size: number
}

/** Bytes of files that are handed over together. */
const memoryBytes = tuning.chunksTogether * format.fileChunkBytes

/** Files on their way into the store. Nothing of them stays unless they are kept. */
export class Upload {
  readonly #thread: CalledThread<FileStore>
  readonly #id: number
  readonly #givingWay: GivingWay
  readonly #paths = new UploadPaths()
  readonly #files: UploadedFile[] = []
  /** Chunks that the thread has not answered yet. */
  readonly #underWay: Promise<ArrayBuffer>[] = []
  /** Memory of chunks that were stored: one large file would leave its own size behind it otherwise. */
  readonly #spare: ChunkMemory[] = []

  constructor(thread: CalledThread<FileStore>, id: number, givingWay: GivingWay) {
    this.#thread = thread
    this.#id = id
    this.#givingWay = givingWay
  }

  /** Stores a file as its bytes come. */
  async add(given: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#paths.add(given)
    let memory = this.#memory()
    let size = 0
    for await (const piece of content)
      for (let at = 0; at < piece.length; ) {
        const begun = size % format.fileChunkBytes
        const taken = piece.subarray(at, at + format.fileChunkBytes - begun)
        memory.chunk((size - begun) / format.fileChunkBytes).set(taken, begun)
        at += taken.length
        size += taken.length
        if (size < memoryBytes) continue
        await this.#addChunks(memory, size)
        memory = this.#memory()
        size = 0
      }
    if (size > 0) await this.#addChunks(memory, size)
    else this.#spare.push(memory)
    // The thread does one after the other, so that nobody has to wait in between.
    const ended = this.#thread.call('endFile', [this.#id])
    // It is awaited below, unless what came before it fails, which is thrown then.
    ended.catch(() => {})
    await this.#settled(0)
    this.#files.push({ path, ...(await ended) })
  }

  /** Everything is stored for good when this has been fulfilled. */
  async finish(asDirectory = false): Promise<Uploaded> {
    const [first, ...more] = this.#files
    if (first === undefined) throw failure('ERR_BAD_REQUEST', { cause: 'There is no file in it.' })
    const uploaded =
      more.length === 0 && !asDirectory
        ? { file: first.path.join('/'), cid: first.cid, size: first.size }
        : { file: undefined, ...(await this.#thread.call('makeFolder', [this.#id, this.#files])) }
    await this.#thread.call('commitUpload', [this.#id])
    return uploaded
  }

  /** Ends it, whatever has become of it: what no event says to keep is gone. */
  async end(): Promise<void> {
    await this.#thread.call('endUpload', [this.#id])
  }

  /** Hands chunks over to the thread, and waits while too many are on their way. */
  async #addChunks({ buffer }: ChunkMemory, length: number): Promise<void> {
    await this.#settled(tuning.chunksAhead - 1)
    await this.#givingWay.pass(length)
    const added = this.#thread.call('addChunks', [this.#id, buffer, length], [buffer])
    // Whoever waits for it is told.
    added.catch(() => {})
    this.#underWay.push(added)
  }

  #memory(): ChunkMemory {
    return this.#spare.pop() ?? new ChunkMemory()
  }

  async #settled(left: number): Promise<void> {
    while (this.#underWay.length > left) {
      const buffer = await this.#underWay.shift()
      if (buffer !== undefined) this.#spare.push(new ChunkMemory(buffer))
    }
  }
}
