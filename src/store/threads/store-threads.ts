import type { TransferListItem, Worker } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { tuning } from '../../base/tuning.ts'
import type { KeyPair } from '../../identity/index.ts'
import type { StreamKey, TopicKind } from '../../protocol/index.ts'
import type { AppendedFrames, GivenChunk, ReceivedTogether } from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { threadModule } from '../../runtime/thread-module.ts'
import type { BackgroundNotice } from '../disk/background.ts'
import { type DiskNotice, DiskReporter } from '../disk/disk-notice.ts'
import type { StoreDamage } from '../disk/wal-check.ts'
import { PieceQueue } from '../jobs/piece-queue.ts'
import type { Appended, AppendRequest, Reading } from '../port/index.ts'
import { SharedCounts } from '../sqlite/index.ts'
import { AppendNotices } from './append-notices.ts'
import { type LogLink, newLogLink } from './link/log-link.ts'
import { PendingCalls } from './pending-calls.ts'
import { PostSignal } from './post-signal.ts'
import { defaultReaderCount, type ReaderCount, ReaderPool } from './reader/reader-pool.ts'
import { SealerHost } from './sealer/sealer-host.ts'
import { noWatch, spawn, type ThreadName, type ThreadWatch, untilOpen } from './spawn.ts'
import { fromMessage, Gate, type Opened, packRequest, unpackAppended } from './thread-messages.ts'
import { ChunkReceiving } from './verifier/chunk-receiving.ts'
import { AppendOrder } from './writer/append-order.ts'
import type { FromWriter, ToWriter, WriterCall, WriterData } from './writer/writer-messages.ts'

export interface EventStoreOptions {
  readonly file: string
  readonly topic: string
  readonly kind: TopicKind
  readonly key: KeyPair
  readonly runtime: Runtime
  /** The number of reader threads; by default it follows from the processors. */
  readonly readers?: ReaderCount
  /** The capacity of the caches of all reader threads together. */
  readonly cacheBytes?: number
  /** The module of the reader threads: it may have more jobs than the store has. */
  readonly readerModule?: URL
  /** The account of client memory that queries are charged to; without one they are not. */
  readonly clientMemory?: SharedArrayBuffer
  /** Called after each commit with the number of its requests. */
  readonly committed?: (requests: number) => void
  /** Called when own events were pruned, or redacted with this record, or when a stream of another node was forgotten. */
  readonly removed?: (stream: StreamKey, redaction?: Uint8Array) => void
  /** Called for damage that was found when the store was opened, and did not prevent it. */
  readonly onDamage?: (damage: StoreDamage) => void
  /** Called when a thread has ended that cannot be restarted: the store is unusable. */
  readonly failed?: (error: Error) => void
  /** Notified of starts, failed starts and ends of threads. */
  readonly threads?: ThreadWatch
  /** Called when the disk fails, and when it works again. */
  readonly disk?: (notice: DiskNotice) => void
  /** Called when background work fails, and when it works again. */
  readonly background?: (notice: BackgroundNotice) => void
}

/** The threads of a store: their start and end, the messages to them, and their failures. */
export class StoreThreads {
  readonly #options: EventStoreOptions
  readonly #posts = new PostSignal()
  readonly #counts = new SharedCounts().memory
  readonly #writer: Worker
  readonly #readers: ReaderPool
  readonly #sealer: SealerHost
  readonly #receiving: ChunkReceiving
  readonly #writerCalls = new PendingCalls()
  /** Reports disk errors of the reader threads. */
  readonly #disk: DiskReporter
  readonly #threads: ThreadWatch
  readonly #notices = new AppendNotices((commits) => this.#post({ commits }, commits && [commits.port]))
  readonly #gate = new Gate()
  #closing: Promise<void> | undefined
  /** Why the store is unusable. */
  #ended: Error | undefined

  /** @param committed called after each commit of own events with the number of its requests */
  constructor(options: EventStoreOptions, committed: (requests: number) => void) {
    const { file, topic, kind, key, runtime, clientMemory } = options
    this.#options = options
    this.#disk = new DiskReporter(options.disk)
    this.#threads = options.threads ?? noWatch
    this.#sealer = new SealerHost({
      file,
      runtime,
      posts: this.#posts,
      ended: () => (this.#isUsable ? undefined : new Error('the store is closed')),
      started: (sealer) => this.#watch('sealer', sealer),
      startFailed: (error) => this.#threads.startFailed('sealer', error),
    })
    const counts = this.#counts
    const { port: sealer, ended } = this.#sealer
    const shared = { counts, sealerEnded: ended.memory, posts: this.#posts.memory }
    const writerData: WriterData = { file, topic, kind, privateKey: key.toPrivateText(), sealer, ...shared }
    this.#writer = spawn(threadModule('writer/writer-thread', import.meta.url), writerData, [sealer])
    this.#readers = new ReaderPool(
      {
        ...runtime,
        module: options.readerModule ?? threadModule('reader/reader-thread', import.meta.url),
        data: { file, own: key.publicKey, counts, gate: this.#gate.memory, clientMemory },
        connect: (reader, link) => this.#post({ reader, link }, [link.port]),
        // The writer reports failures. The next query that meets the damage retries.
        damagedIndex: (...position) => void this.write('dropIndexAt', ...position).catch(() => {}),
        failed: (error) => this.#fail(error),
        threads: this.#threads,
        disk: this.#disk,
        cacheBytes: options.cacheBytes ?? tuning.readerCacheBytes,
      },
      options.readers ?? defaultReaderCount(),
    )
    this.#receiving = new ChunkReceiving({
      kind,
      threads: this.#threads,
      store: async (chunks, from, transfer) => {
        const call = { call: 'receiveVerified', args: [chunks, from] } as const
        return (await this.#call((id) => this.#post({ id, ...call }, transfer))) as ReceivedTogether
      },
    })
    const order = new AppendOrder()
    const appended = (results: Float64Array): void => {
      const requests = unpackAppended(results, (id, appended) => {
        order.check(appended)
        this.#writerCalls.settle(id, appended, undefined)
      })
      committed(requests)
    }
    this.#writer.on('message', (message: FromWriter | Opened) => {
      if (message instanceof Float64Array) appended(message)
      else if (Array.isArray(message))
        for (const { id, result, error } of message) this.#writerCalls.settle(id, result, error && fromMessage(error))
      else if ('disk' in message) options.disk?.(message.disk)
      else if ('background' in message) this.#notify(message.background)
      else assert('damage' in message || 'error' in message, 'a message of the writer is of a known kind')
    })
  }

  async open(): Promise<void> {
    try {
      const writer = untilOpen(this.#writer, this.#options.onDamage)
      await Promise.all([writer.then(() => this.#gate.open()), this.#readers.opened()])
    } catch (error) {
      await Promise.all([this.#writer.terminate(), this.#readers.terminate()])
      throw error
    }
    this.#watch('writer', this.#writer)
    // Also while the store is being closed: `close` waits for a reply of the writer.
    this.#writer.once('exit', () =>
      this.#end(this.#ended ?? new Error(this.#closing === undefined ? 'the writer has ended' : 'the store is closed')),
    )
    this.#sealer.listen()
  }

  append(request: AppendRequest): Promise<Appended> {
    return this.#call((id) => {
      const packed = packRequest(id, request)
      this.#post(packed, [packed])
    }) as Promise<Appended>
  }

  /** Receives chunks of other nodes. */
  receive(chunks: readonly GivenChunk[], from: string | undefined): Promise<ReceivedTogether> {
    return this.#ended === undefined ? this.#receiving.receive(chunks, from) : Promise.reject(this.#ended)
  }

  /** Calls a method of the writer. */
  write(call: WriterCall, ...args: readonly unknown[]): Promise<unknown> {
    return this.#call((id) => this.#post({ id, call, args }))
  }

  /** Asks a reader thread. */
  read(message: Parameters<ReaderPool['call']>[0]): Promise<unknown> {
    return this.#ended === undefined ? this.#readers.call(message) : Promise.reject(this.#ended)
  }

  /** Starts a job of the reader module. */
  start(job: string, request: unknown): Reading {
    if (this.#ended === undefined) return this.#readers.start(job, request)
    const ended = new PieceQueue(
      () => {},
      () => {},
    )
    ended.end(this.#ended)
    return ended
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    return this.#ended === undefined ? this.#notices.add(listener) : () => {}
  }

  /** A link to the writer for another thread. */
  link(): LogLink {
    if (this.#ended !== undefined) throw this.#ended
    const { file, kind, key } = this.#options
    const parts = { file, kind, own: key.publicKey, counts: this.#counts, posts: this.#posts.memory }
    const [link, caller] = newLogLink(parts)
    this.#post({ caller }, [caller])
    return link
  }

  /** Tests with a write that changes nothing whether the disk works again. */
  async probe(): Promise<void> {
    await this.write('probe')
    this.#disk.succeeded('query')
  }

  /** Changes the capacity of the caches of all reader threads together. */
  set cacheBytes(bytes: number) {
    this.#readers.cacheBytes = bytes
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      // The writer last: the last connection to close checkpoints the WAL, and only the writer's can write.
      await Promise.all([this.#readers.close(), this.#receiving.close()])
      await this.#sealer.stop()
      if (this.#ended === undefined) await this.write('close')
    } finally {
      const closed = new Error('the store is closed')
      this.#end(closed)
      // Replaces an earlier error: from now on the store is closed.
      this.#ended = closed
      await this.#writer.terminate()
    }
  }

  get #isUsable(): boolean {
    return this.#closing === undefined && this.#ended === undefined
  }

  #watch(name: ThreadName, thread: Worker): void {
    this.#threads.started(name)
    let cause = new Error(`the ${name} thread has ended`)
    thread.on('error', (error) => {
      cause = error
    })
    thread.on('exit', () => {
      // When one thread has ended, the others are terminated, which is not a failure.
      if (this.#isUsable) this.#threads.ended(name, cause)
      this.#fail(cause)
    })
  }

  /** Background work that is aborted by `close` has not failed. */
  #notify(notice: BackgroundNotice): void {
    if (this.#isUsable) this.#options.background?.(notice)
  }

  #call(post: (id: number) => void): Promise<unknown> {
    return this.#ended === undefined ? this.#writerCalls.add(post) : Promise.reject(this.#ended)
  }

  #post(message: ToWriter, transfer: readonly TransferListItem[] = []): void {
    this.#writer.postMessage(message, transfer)
    this.#posts.raise()
  }

  /** Handles the unexpected end of a thread. */
  #fail(error: Error): void {
    if (!this.#isUsable) return
    this.#refuse(error)
    this.#options.failed?.(error)
  }

  /** Rejects everything that follows. A writer that still runs replies to what it was asked before. */
  #refuse(error: Error): void {
    this.#ended ??= error
    this.#sealer.ended.open()
    this.#notices.close()
    this.#readers.failAll(error)
  }

  /** Rejects everything that waits or follows: the writer has ended, and its last replies have arrived. */
  #end(error: Error): void {
    this.#refuse(error)
    this.#writerCalls.failAll(error)
  }
}
