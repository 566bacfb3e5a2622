import { MessageChannel, type TransferListItem, type Worker } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { KeyPair } from '../../identity/index.ts'
import type { Hash, StreamKey, TopicKind } from '../../protocol/index.ts'
import type {
  AppendedFrames,
  AppliedEvidence,
  HeadPlace,
  PruneResult,
  Received,
  ReceiveOptions,
  RedactionResult,
  StreamHead,
} from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { threadModule } from '../../runtime/thread-module.ts'
import { CommitListeners } from '../commit-listeners.ts'
import type { BackgroundNotice } from '../disk/background.ts'
import { type DiskNotice, DiskReporter } from '../disk/disk-notice.ts'
import type { StoreDamage } from '../disk/wal-check.ts'
import { PieceQueue } from '../jobs/piece-queue.ts'
import type {
  Appended,
  AppendRequest,
  ChunkSize,
  EventStore,
  FrameTime,
  NewestTime,
  Reading,
  Selection,
  StreamRecords,
  StreamStatus,
} from '../port/index.ts'
import { SharedCounts } from '../sqlite/index.ts'
import { AppendNotices } from './append-notices.ts'
import type { BackupData, FromBackup } from './backup/backup-thread.ts'
import { PendingCalls } from './pending-calls.ts'
import { PostSignal } from './post-signal.ts'
import { defaultReaderCount, type ReaderCount, ReaderPool } from './reader/reader-pool.ts'
import type { FromSealer, SealerData, SealerStart, ToSealer } from './sealer/sealer-thread.ts'
import { noWatch, spawn, type ThreadName, type ThreadWatch, untilOpen } from './spawn.ts'
import { fromMessage, Gate, type Opened, packRequest, toMessage, unpackAppended } from './thread-messages.ts'
import { AppendOrder } from './writer/append-order.ts'
import type { FromWriter, ToWriter, WriterCall, WriterData } from './writer/writer-thread.ts'

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

/** The events of a topic in an SQLite database, with a writer thread, reader threads and a sealer thread. */
export class SqliteEventStore implements EventStore {
  readonly #options: EventStoreOptions
  readonly #posts = new PostSignal()
  readonly #writer: Worker
  readonly #readers: ReaderPool
  /** Gets its tasks from the writer thread, not from here. */
  #sealer: Worker | undefined
  /** Why the sealer could not be started, and when the start is retried. */
  #sealerFailure: { readonly error: Error; readonly retryAt: number } | undefined
  readonly #writerCalls = new PendingCalls()
  /** Reports disk errors of the reader threads. */
  readonly #disk: DiskReporter
  readonly #threads: ThreadWatch
  readonly #listeners = new CommitListeners()
  readonly #notices = new AppendNotices((commits) => this.#post({ commits }, commits && [commits.port]))
  readonly #gate = new Gate()
  /** Open once the sealer has ended, so that the writer does not wait for it. */
  readonly #sealerEnded = new Gate()
  /** Between the writer and the sealer. */
  readonly #seals = new MessageChannel()
  #closing: Promise<void> | undefined
  /** Why the store is unusable. */
  #ended: Error | undefined

  private constructor(options: EventStoreOptions) {
    const { file, topic, kind, key, readerModule = moduleOf('reader/reader-thread'), committed, clientMemory } = options
    this.#options = options
    this.#disk = new DiskReporter(options.disk)
    this.#threads = options.threads ?? noWatch
    const counts = new SharedCounts().memory
    const sealer = this.#seals.port1
    const shared = { counts, sealerEnded: this.#sealerEnded.memory, posts: this.#posts.memory }
    const writerData: WriterData = { file, topic, kind, privateKey: key.toPrivateText(), sealer, ...shared }
    this.#writer = spawn(moduleOf('writer/writer-thread'), writerData, [sealer])
    this.#readers = new ReaderPool(
      {
        ...options.runtime,
        module: readerModule,
        data: { file, own: key.publicKey, counts, gate: this.#gate.memory, clientMemory },
        connect: (reader, link) => this.#post({ reader, link }, [link.port]),
        // The writer reports failures. The next query that meets the damage retries.
        damagedIndex: (...position) => void this.#write('dropIndexAt', ...position).catch(() => {}),
        failed: (error) => this.#fail(error),
        threads: this.#threads,
        disk: this.#disk,
        cacheBytes: options.cacheBytes ?? tuning.readerCacheBytes,
      },
      options.readers ?? defaultReaderCount(),
    )
    const order = new AppendOrder()
    const appended = (results: Float64Array): void => {
      const requests = unpackAppended(results, (id, appended) => {
        order.check(appended)
        this.#writerCalls.settle(id, appended, undefined)
      })
      committed?.(requests)
      this.#listeners.notify()
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

  static async open(options: EventStoreOptions): Promise<SqliteEventStore> {
    const store = new SqliteEventStore(options)
    await store.#open()
    return store
  }

  async #open(): Promise<void> {
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
    // The sealer is started by its first task: a faster start, and many nodes never seal anything.
    const port = this.#seals.port2
    const startWith = async (first: ToSealer): Promise<void> => {
      const error = await this.#startSealer(first, () => port.off('message', startWith))
      if (error === undefined) return
      // The writer tries again with the next chunk.
      port.postMessage({ error: toMessage(error), task: first } satisfies FromSealer)
      this.#posts.raise()
    }
    port.on('message', startWith)
  }

  /** Starts the sealer with its first task, or returns the error. Calls `opened` before it transfers the port. */
  async #startSealer(first: ToSealer, opened: () => void): Promise<Error | undefined> {
    if (this.#closing !== undefined || this.#ended !== undefined) return new Error('the store is closed')
    if (this.#sealerFailure !== undefined && this.#options.runtime.clock.steadyMs() < this.#sealerFailure.retryAt)
      return this.#sealerFailure.error
    const data: SealerData = { file: this.#options.file, posts: this.#posts.memory }
    let sealer: Worker | undefined
    try {
      sealer = spawn(moduleOf('sealer/sealer-thread'), data)
      this.#sealer = sealer
      await untilOpen(sealer)
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      this.#sealerFailure = { error, retryAt: this.#options.runtime.clock.steadyMs() + limits.threadRetryMs }
      this.#threads.startFailed('sealer', error)
      await sealer?.terminate()
      return error
    }
    this.#watch('sealer', sealer)
    opened()
    const { port2: port } = this.#seals
    sealer.postMessage({ port, first } satisfies SealerStart, [port])
    return undefined
  }

  #watch(name: ThreadName, thread: Worker): void {
    this.#threads.started(name)
    let cause = new Error(`the ${name} thread has ended`)
    thread.on('error', (error) => {
      cause = error
    })
    thread.on('exit', () => {
      // When one thread has ended, the others are terminated, which is not a failure.
      if (this.#closing === undefined && this.#ended === undefined) this.#threads.ended(name, cause)
      this.#fail(cause)
    })
  }

  /** Background work that is aborted by `close` has not failed. */
  #notify(notice: BackgroundNotice): void {
    if (this.#closing === undefined && this.#ended === undefined) this.#options.background?.(notice)
  }

  append(request: AppendRequest): Promise<Appended> {
    return this.#call((id) => {
      const packed = packRequest(id, request)
      this.#post(packed, [packed])
    }) as Promise<Appended>
  }

  async receive(chunk: Uint8Array, options?: ReceiveOptions): Promise<Received> {
    const received = (await this.#write('receive', chunk, options)) as Received
    // Before a fork was found, events may have been stored.
    if (received.state === 'stored' || received.state === 'forked') this.#listeners.notify()
    return received
  }

  prune(stream: number, count: number): Promise<Uint8Array> {
    return this.#write('prune', stream, count) as Promise<Uint8Array>
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): Promise<PruneResult> {
    const result = (await this.#write('applyPrune', record, head, options)) as PruneResult
    // Waiting chunks may have been stored.
    if (result.state === 'applied') this.#listeners.notify()
    return result
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    return this.#ended === undefined ? this.#notices.add(listener) : () => {}
  }

  redact(stream: number, offsets: readonly number[]): Promise<Uint8Array> {
    return this.#write('redact', stream, offsets) as Promise<Uint8Array>
  }

  async applyRedaction(record: Uint8Array, options?: ReceiveOptions): Promise<RedactionResult> {
    const [result] = await this.applyRedactions([record], options)
    assert(result !== undefined, 'every record has a result')
    return result
  }

  applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions): Promise<RedactionResult[]> {
    return this.#write('applyRedactions', records, options) as Promise<RedactionResult[]>
  }

  forgetStream(key: StreamKey): Promise<boolean> {
    return this.#write('forgetStream', key) as Promise<boolean>
  }

  evidence(stream: number): Promise<Uint8Array | undefined> {
    return this.#write('evidence', stream) as Promise<Uint8Array | undefined>
  }

  applyEvidence(record: Uint8Array): Promise<AppliedEvidence> {
    return this.#write('applyEvidence', record) as Promise<AppliedEvidence>
  }

  streams(): Promise<StreamStatus[]> {
    return this.#read({ type: 'streams' }) as Promise<StreamStatus[]>
  }

  head(stream: number): Promise<Uint8Array | undefined> {
    return this.#write('head', stream) as Promise<Uint8Array | undefined>
  }

  records(stream: number, from?: number, to?: number): Promise<StreamRecords> {
    return this.#write('records', stream, from, to) as Promise<StreamRecords>
  }

  checkpoints(stream: number): Promise<{ count: number; head: Uint8Array }[]> {
    return this.#read({ type: 'checkpoints', stream }) as Promise<{ count: number; head: Uint8Array }[]>
  }

  chunkSizes(stream: number): Promise<ChunkSize[]> {
    return this.#read({ type: 'chunkSizes', stream }) as Promise<ChunkSize[]>
  }

  newestTime(stream: number, from: number, to: number): Promise<NewestTime> {
    return this.#read({ type: 'newestTime', stream, from, to }) as Promise<NewestTime>
  }

  framesOfChunk(stream: number, from: number): Promise<FrameTime[]> {
    return this.#read({ type: 'framesOfChunk', stream, from }) as Promise<FrameTime[]>
  }

  async chunk(stream: number, from: number, maxBytes?: number): Promise<Uint8Array | undefined> {
    const newest = await this.head(stream)
    return (await this.#read({ type: 'chunk', stream, from, newest, maxBytes })) as Uint8Array | undefined
  }

  async chunks(stream: number, from: number, maxBytes: number): Promise<Uint8Array[]> {
    const newest = await this.head(stream)
    return (await this.#read({ type: 'chunks', stream, from, newest, maxBytes })) as Uint8Array[]
  }

  hashAt(stream: number, count: number): Promise<Hash | 'pruned' | undefined> {
    return this.#read({ type: 'hashAt', stream, count }) as Promise<Hash | 'pruned' | undefined>
  }

  async heads(): Promise<StreamHead[]> {
    // Own heads are signed by the writer, those of other nodes are read from the database.
    const own = (await this.#write('ownHeads')) as StreamHead[]
    const received = (await this.#read({ type: 'receivedHeads' })) as StreamHead[]
    return [...own, ...received].sort((a, b) => a.number - b.number)
  }

  streamOf(key: StreamKey): Promise<StreamStatus | undefined> {
    return this.#read({ type: 'streamOf', key }) as Promise<StreamStatus | undefined>
  }

  contains(head: Uint8Array): Promise<HeadPlace> {
    return this.#read({ type: 'contains', head }) as Promise<HeadPlace>
  }

  /** Seals all complete chunks and checkpoints the WAL. */
  async settle(): Promise<void> {
    await this.#write('sealAll')
    await this.#write('truncateWal')
  }

  /** Tests with a write that changes nothing whether the disk works again. */
  async probe(): Promise<void> {
    await this.#write('probe')
    this.#disk.succeeded('query')
  }

  /** Changes the capacity of the caches of all reader threads together. */
  set cacheBytes(bytes: number) {
    this.#readers.cacheBytes = bytes
  }

  /** Copies a consistent snapshot of the store into a new file, while the store is in use. */
  async backup(target: string): Promise<void> {
    const data: BackupData = { file: this.#options.file, target, now: this.#options.runtime.clock.now() }
    const worker = spawn(moduleOf('backup/backup-thread'), data)
    const { error } = await new Promise<FromBackup>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    await worker.terminate()
    if (error !== undefined) throw fromMessage(error)
  }

  read(selection: Selection): Reading {
    return this.start('read', selection)
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

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      // The writer last: the last connection to close checkpoints the WAL, and only the writer's can write.
      await this.#readers.close()
      this.#sealerEnded.open()
      await this.#stopSealer()
      if (this.#ended === undefined) await this.#write('close')
    } finally {
      const closed = new Error('the store is closed')
      this.#end(closed)
      // Replaces an earlier error: from now on the store is closed.
      this.#ended = closed
      await this.#writer.terminate()
    }
  }

  /** Lets the sealer finish its task: terminating a thread while it creates a zstd context aborts the process (Node 24). */
  async #stopSealer(): Promise<void> {
    const sealer = this.#sealer
    if (sealer === undefined || sealer.threadId < 0) return
    const { timers } = this.#options.runtime
    await new Promise<void>((resolve) => {
      const timer = timers.setTimeout(resolve, tuning.sealerStopTimeoutMs)
      sealer.once('exit', () => {
        timers.clear(timer)
        resolve()
      })
      sealer.postMessage('close')
    })
    await sealer.terminate()
  }

  #write(call: WriterCall, ...args: readonly unknown[]): Promise<unknown> {
    return this.#call((id) => this.#post({ id, call, args }))
  }

  #call(post: (id: number) => void): Promise<unknown> {
    return this.#ended === undefined ? this.#writerCalls.add(post) : Promise.reject(this.#ended)
  }

  #post(message: ToWriter, transfer: readonly TransferListItem[] = []): void {
    this.#writer.postMessage(message, transfer)
    this.#posts.raise()
  }

  #read(message: Parameters<ReaderPool['call']>[0]): Promise<unknown> {
    return this.#ended === undefined ? this.#readers.call(message) : Promise.reject(this.#ended)
  }

  /** Handles the unexpected end of a thread. */
  #fail(error: Error): void {
    if (this.#closing !== undefined || this.#ended !== undefined) return
    this.#refuse(error)
    this.#options.failed?.(error)
  }

  /** Rejects everything that follows. A writer that still runs replies to what it was asked before. */
  #refuse(error: Error): void {
    this.#ended ??= error
    this.#sealerEnded.open()
    this.#notices.close()
    this.#readers.failAll(error)
  }

  /** Rejects everything that waits or follows: the writer has ended, and its last replies have arrived. */
  #end(error: Error): void {
    this.#refuse(error)
    this.#writerCalls.failAll(error)
  }
}

function moduleOf(name: string): URL {
  return threadModule(name, import.meta.url)
}
