import { Worker } from 'node:worker_threads'
import type { Blob, BlobEntry } from '../blobs.ts'
import type { BlobCall, BlobData, FromBlobs, ToBlobs } from './blob-thread.ts'
import { fromMessage, type Opened } from './messages.ts'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** The blobs of apps in a thread of their own, which starts with the first one that is asked for: most nodes have none. */
export class ThreadedBlobs {
  readonly #file: string
  readonly #waiting = new Map<number, Waiting>()
  #thread: Promise<Worker> | undefined
  #nextId = 0
  #isClosed = false

  constructor(file: string) {
    this.#file = file
  }

  async get(app: string, path: string): Promise<Blob | undefined> {
    const blob = (await this.#ask('get', app, path)) as { type: string; bytes: Uint8Array } | undefined
    if (blob === undefined) return undefined
    // What comes from another thread is a view of a part of its memory.
    const { buffer, byteOffset, length } = blob.bytes
    return { type: blob.type, bytes: Buffer.from(buffer, byteOffset, length) }
  }

  list(app: string, path: string): Promise<Map<string, BlobEntry> | undefined> {
    return this.#ask('list', app, path) as Promise<Map<string, BlobEntry> | undefined>
  }

  async put(app: string, path: string, blob: Blob): Promise<void> {
    await this.#ask('put', app, path, blob)
  }

  async delete(app: string, path: string): Promise<void> {
    await this.#ask('delete', app, path)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const thread = await this.#thread?.catch(() => undefined)
    if (thread === undefined) return
    await this.#post(thread, 'close', [])
    await thread.terminate()
  }

  async #ask(call: BlobCall, ...args: readonly unknown[]): Promise<unknown> {
    if (this.#isClosed) throw new Error('the blobs are closed')
    this.#thread ??= this.#start()
    return await this.#post(await this.#thread, call, args)
  }

  #post(thread: Worker, call: BlobCall, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#waiting.set(id, { resolve, reject })
      thread.postMessage({ id, call, args } satisfies ToBlobs)
    })
  }

  async #start(): Promise<Worker> {
    const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const workerData: BlobData = { file: this.#file }
    const thread = new Worker(new URL(`./blob-thread.${suffix}`, import.meta.url), { workerData })
    try {
      await opened(thread)
    } catch (error) {
      // Whoever comes next tries again.
      this.#thread = undefined
      await thread.terminate()
      throw error
    }
    thread.on('message', (message: FromBlobs) => this.#settle(message))
    thread.on('error', (error) => this.#fail(error))
    return thread
  }

  #settle({ id, result, error }: FromBlobs): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(fromMessage(error))
  }

  /** A thread that broke is replaced by the next call. */
  #fail(error: Error): void {
    this.#thread = undefined
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

async function opened(thread: Worker): Promise<void> {
  const { error } = await new Promise<Opened>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  thread.removeAllListeners('error')
  if (error !== undefined) throw fromMessage(error)
}
