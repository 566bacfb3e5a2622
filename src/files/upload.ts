import { invalidRequest } from '../base/errors.ts'
import { format } from '../base/format.ts'
import { tuning } from '../base/tuning.ts'
import type { CalledThread, TransferThrottle } from '../store/index.ts'
import type { FileStore, UploadedFile } from './thread/index.ts'
import { ChunkMemory } from './unixfs/index.ts'
import { UploadPaths } from './upload-paths.ts'

/** The result of an upload. */
export interface Uploaded {
  /** The path of a single file; undefined for a directory. */
  readonly file: string | undefined
  readonly cid: string
  readonly size: number
}

/** Bytes of chunks that are transferred to the thread together. */
const memoryBytes = tuning.uploadBatchChunks * format.fileChunkBytes

/** An upload in progress. Its blocks are deleted unless an event pins them. */
export class Upload {
  readonly #thread: CalledThread<FileStore>
  readonly #id: number
  readonly #throttle: TransferThrottle
  readonly #paths = new UploadPaths()
  readonly #files: UploadedFile[] = []
  /** Calls with chunks that the thread has not completed yet. */
  readonly #inFlight: Promise<ArrayBuffer>[] = []
  /** Buffers for reuse: otherwise a large file would leave its own size as garbage. */
  readonly #spare: ChunkMemory[] = []

  constructor(thread: CalledThread<FileStore>, id: number, throttle: TransferThrottle) {
    this.#thread = thread
    this.#id = id
    this.#throttle = throttle
  }

  /** Streams a file into the store. */
  async add(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#paths.add(name)
    let memory = this.#memory()
    let size = 0
    for await (const piece of content)
      for (let at = 0; at < piece.length; ) {
        const filled = size % format.fileChunkBytes
        const taken = piece.subarray(at, at + format.fileChunkBytes - filled)
        memory.chunk((size - filled) / format.fileChunkBytes).set(taken, filled)
        at += taken.length
        size += taken.length
        if (size < memoryBytes) continue
        await this.#addChunks(memory, size)
        memory = this.#memory()
        size = 0
      }
    if (size > 0) await this.#addChunks(memory, size)
    else this.#spare.push(memory)
    // The thread processes calls in order, so this need not wait for the chunks.
    const ended = this.#thread.call('endFile', [this.#id])
    // It is awaited below, unless an earlier call fails; then that error is thrown.
    ended.catch(() => {})
    await this.#waitInFlight(0)
    this.#files.push({ path, ...(await ended) })
  }

  /** Resolved when all blocks are committed. */
  async finish(asDirectory = false): Promise<Uploaded> {
    const [first, ...more] = this.#files
    if (first === undefined) throw invalidRequest('There is no file in it.')
    const uploaded =
      more.length === 0 && !asDirectory
        ? { file: first.path.join('/'), cid: first.cid, size: first.size }
        : { file: undefined, ...(await this.#thread.call('makeFolder', [this.#id, this.#files])) }
    await this.#thread.call('commitUpload', [this.#id])
    return uploaded
  }

  /** Ends the upload in any case. Blocks that no event pins are deleted. */
  async end(): Promise<void> {
    await this.#thread.call('endUpload', [this.#id])
  }

  /** Transfers chunks to the thread. Backpressure: waits while too many are in flight. */
  async #addChunks({ buffer }: ChunkMemory, length: number): Promise<void> {
    await this.#waitInFlight(tuning.uploadBatchesInFlight - 1)
    await this.#throttle.pass(length)
    const added = this.#thread.call('addChunks', [this.#id, buffer, length], [buffer])
    // The rejection is handled in #waitInFlight.
    added.catch(() => {})
    this.#inFlight.push(added)
  }

  #memory(): ChunkMemory {
    return this.#spare.pop() ?? new ChunkMemory()
  }

  async #waitInFlight(left: number): Promise<void> {
    while (this.#inFlight.length > left) {
      const buffer = await this.#inFlight.shift()
      if (buffer !== undefined) this.#spare.push(new ChunkMemory(buffer))
    }
  }
}
