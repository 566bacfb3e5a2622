import { threadModule } from '../../thread-module.ts'
import type { Blob, BlobEntry, BlobStore } from '../blobs.ts'
import type { BlobData } from './blob-thread.ts'
import { CalledThread } from './calls.ts'

/** The blobs of apps in a thread of their own, which starts with the first one that is asked for: most nodes have none. */
export class ThreadedBlobs {
  readonly #thread: CalledThread<BlobStore>

  constructor(file: string) {
    this.#thread = new CalledThread(threadModule('blob-thread', import.meta.url), { file } satisfies BlobData)
  }

  async get(app: string, path: string): Promise<Blob | undefined> {
    const blob = await this.#thread.call('get', [app, path])
    if (blob === undefined) return undefined
    // What comes from another thread is a view of a part of its memory.
    const { buffer, byteOffset, length } = blob.bytes
    return { type: blob.type, bytes: Buffer.from(buffer, byteOffset, length) }
  }

  list(app: string, path: string): Promise<Map<string, BlobEntry> | undefined> {
    return this.#thread.call('list', [app, path])
  }

  async put(app: string, path: string, blob: Blob): Promise<void> {
    await this.#thread.call('put', [app, path, blob])
  }

  async delete(app: string, path: string): Promise<void> {
    await this.#thread.call('delete', [app, path])
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
