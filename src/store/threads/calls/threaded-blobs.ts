import { existsSync } from 'node:fs'
import { assert } from '../../../base/assert.ts'
import { limits } from '../../../base/limits.ts'
import { threadModule } from '../../../runtime/thread-module.ts'
import type { Blob, BlobEntry, BlobStore } from '../../blobs/blobs.ts'
import type { BackgroundNotice } from '../../disk/background.ts'
import type { DiskNotice } from '../../disk/disk-notice.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import type { ThreadWatch } from '../spawn.ts'
import type { BlobData } from './blob-thread.ts'
import { CalledThread, type DiskUse } from './calls.ts'

const use: Omit<DiskUse<BlobStore>, 'notify'> = {
  work: { size: 'blob_read', get: 'blob_read', list: 'blob_read', put: 'blob_write', delete: 'blob_write' },
  proof: new Set(['get', 'list', 'put', 'delete']),
}

export interface BlobThreadOptions {
  readonly threads?: ThreadWatch
  readonly onDamage?: (damage: StoreDamage) => void
  /** Called when the disk fails, and when it works again. */
  readonly notify?: (notice: DiskNotice) => void
  /** Called when background work fails, and when it works again. */
  readonly background?: (notice: BackgroundNotice) => void
}

/** The blobs of apps in a worker thread, which is started by the first use: most nodes have no blobs. */
export class ThreadedBlobs {
  readonly #file: string
  readonly #thread: CalledThread<BlobStore>

  constructor(file: string, { threads, onDamage, notify = () => {}, background }: BlobThreadOptions = {}) {
    this.#file = file
    const module = threadModule('blob-thread', import.meta.url)
    const disk = { ...use, notify }
    const options = { threads, onDamage, disk, background }
    this.#thread = new CalledThread('blobs', module, { file } satisfies BlobData, options)
  }

  async size(app: string, path: string): Promise<number | undefined> {
    return this.#exists ? await this.#thread.call('size', [app, path]) : undefined
  }

  async get(app: string, path: string): Promise<Blob | undefined> {
    if (!this.#exists) return undefined
    const blob = await this.#thread.call('get', [app, path])
    if (blob === undefined) return undefined
    // Structured cloning turns a Buffer into a Uint8Array.
    const { buffer, byteOffset, length } = blob.bytes
    assert(length <= limits.blobBytes, 'a stored blob is within the size limit')
    return { type: blob.type, bytes: Buffer.from(buffer, byteOffset, length) }
  }

  async list(app: string, path: string): Promise<Map<string, BlobEntry> | undefined> {
    return this.#exists ? await this.#thread.call('list', [app, path]) : undefined
  }

  async put(app: string, path: string, blob: Blob): Promise<void> {
    await this.#thread.call('put', [app, path, blob])
  }

  async delete(app: string, path: string): Promise<void> {
    await this.#thread.call('delete', [app, path])
  }

  /** Tests with a write that changes nothing whether the disk works again. */
  async probe(): Promise<void> {
    await this.#thread.call('probe', [])
    this.#thread.recovered()
  }

  close(): Promise<void> {
    return this.#thread.close()
  }

  /** Whether there is a database. Reads do not create it, so they work on a full disk. */
  get #exists(): boolean {
    return existsSync(this.#file)
  }
}
