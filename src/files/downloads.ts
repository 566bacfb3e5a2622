import { assert } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { CalledThread, TransferThrottle } from '../store/index.ts'
import type { FileBlocks } from './file-blocks.ts'
import type { FileStore, Found } from './thread/index.ts'

interface Parts {
  readonly thread: Pick<CalledThread<FileStore>, 'call'>
  readonly blocks: Pick<FileBlocks, 'waitFor'>
  readonly throttle: TransferThrottle
}

/** Finds and reads files and directories. Blocks that are on their way from other nodes are waited for. */
export class Downloads {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Resolves a CID or a name, and a path below it. */
  find(root: string, path: readonly string[]): Promise<Found> {
    return this.#find(path.length, () => this.#parts.thread.call('find', [root, path]))
  }

  /** Resolves a path of the website of a host. */
  findSite(host: string, path: readonly string[]): Promise<Found> {
    return this.#find(path.length, () => this.#parts.thread.call('findSite', [host, path]))
  }

  /** Downloads a range of a file. The next block is prefetched while the caller consumes the current one. */
  async *read(cid: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    let next = start < end ? this.#prefetch(cid, start) : undefined
    for (let at = start; next !== undefined; ) {
      const piece = await next
      assert(piece.length > 0, 'a piece of a file is not empty')
      const taken = piece.subarray(0, end - at)
      at += taken.length
      await this.#parts.throttle.pass(taken.length)
      next = at < end ? this.#prefetch(cid, at) : undefined
      yield taken
    }
  }

  /** Each missing block on the path is waited for once. */
  async #find(depth: number, find: () => Promise<Found>): Promise<Found> {
    let found = await find()
    for (let i = 0; i <= depth && found.missing !== undefined; i++) {
      if (!(await this.#parts.blocks.waitFor(found.missing))) break
      found = await find()
    }
    return found
  }

  #prefetch(cid: string, offset: number): Promise<Uint8Array> {
    const read = this.#read(cid, offset)
    // The rejection is handled by the consumer, which awaits it later.
    read.catch(() => {})
    return read
  }

  async #read(cid: string, offset: number): Promise<Uint8Array> {
    const { thread, blocks } = this.#parts
    for (;;) {
      const piece = await thread.call('read', [cid, offset])
      if (piece instanceof Uint8Array) return piece
      if (piece === undefined || !(await blocks.waitFor(piece.missing))) throw failure('ERR_NOT_FOUND', {})
    }
  }
}
