import type { MessagePort, Worker } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { limits } from '../../../base/limits.ts'
import { tuning } from '../../../base/tuning.ts'
import { MemoryAccount } from '../../../client-memory/account.ts'
import { isOutOfDescriptors } from '../../../runtime/descriptors.ts'
import type { Timer, Timers } from '../../../runtime/timers.ts'
import type { DiskReporter } from '../../disk/disk-notice.ts'
import { PieceQueue } from '../../jobs/piece-queue.ts'
import type { Reading } from '../../port/index.ts'
import { newId, PendingCalls } from '../pending-calls.ts'
import { PostSignal } from '../post-signal.ts'
import { spawn, type ThreadWatch, threadUnavailable, untilOpen } from '../spawn.ts'
import { fromMessage, type Opened } from '../thread-messages.ts'
import { splitPieces } from './pieces.ts'
import type { ReaderData } from './reader-host.ts'
import { newLink, type ReaderLink } from './reader-link.ts'
import { WaitingJobs } from './reader-load.ts'
import { type FromReader, isWork, type ReaderCall, type ToReader } from './reader-messages.ts'

export interface ReaderOptions {
  /** The index of the thread among the reader threads. */
  readonly index: number
  readonly timers: Timers
  readonly module: URL
  readonly data: Omit<ReaderData, 'index' | 'commits' | 'posts' | 'waiting'>
  /** Gives the writer the link to a new reader thread, to wake it after commits. */
  readonly connect: (reader: number, link: ReaderLink) => void
  readonly damagedIndex: (stream: number, offset: number) => void
  /** Called when the thread cannot be restarted. */
  readonly failed: (error: Error) => void
  /** Notified of starts, failed starts, which are retried, and ends of the thread. */
  readonly threads: ThreadWatch
  readonly disk: DiskReporter
}

/** A running thread, the signal for messages to it, and what it reports in shared memory. */
interface Thread {
  readonly worker: Worker
  readonly waiting: WaitingJobs
  readonly posts: PostSignal
}

/**
 * Starts a reader thread, sends it calls and jobs, and restarts it when it ends, say because a query ran out of
 * memory. Pending calls and readings fail then; later ones go to the new thread.
 */
export class ReaderSupervisor {
  readonly #options: ReaderOptions
  readonly #pending = new PendingCalls()
  readonly #readings = new Map<number, PieceQueue>()
  #thread: Thread
  /** Whether the first thread has opened. */
  #hasOpened = false
  #isClosing = false
  #cacheBytes: number | undefined
  /** Why there is no thread at the moment: the last start failed, and is retried. */
  #unavailable: Error | undefined
  #retry: Timer | undefined

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#thread = this.#start()
  }

  /** The capacity of the caches of the thread, also when it is restarted. */
  set cacheBytes(bytes: number) {
    this.#cacheBytes = bytes
    post(this.#thread, { type: 'cacheBytes', bytes })
  }

  /** Number of open readings. */
  get readings(): number {
    return this.#readings.size
  }

  /** Number of open readings without subscriptions that have caught up. Infinite while there is no thread. */
  get load(): number {
    if (this.#unavailable !== undefined) return Number.POSITIVE_INFINITY
    return Math.max(0, this.#readings.size - this.#thread.waiting.count)
  }

  /** Resolves when the first thread is open. */
  async opened(): Promise<void> {
    await untilOpen(this.#thread.worker)
    this.#hasOpened = true
  }

  call(message: DistributiveOmit<ReaderCall, 'id'>): Promise<unknown> {
    if (this.#unavailable !== undefined) return Promise.reject(this.#unavailable)
    return this.#pending.add((id) => post(this.#thread, { ...message, id }))
  }

  /** Starts a job of the reader module. */
  start(job: string, request: unknown): Reading {
    const id = newId()
    const thread = this.#thread
    const queue = new PieceQueue(
      (bytes) => post(thread, { type: 'credit', id, bytes }),
      () => {
        this.#readings.delete(id)
        post(thread, { type: 'cancel', id })
      },
    )
    if (this.#unavailable !== undefined) {
      queue.end(this.#unavailable)
      return queue
    }
    this.#readings.set(id, queue)
    post(thread, { type: 'start', id, job, request })
    return queue
  }

  failAll(error: Error): void {
    this.#pending.failAll(error)
    for (const queue of this.#readings.values()) queue.end(error)
    this.#readings.clear()
  }

  /** Terminates a busy thread after a short timeout: a reader has nothing to lose. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#options.timers.clear(this.#retry)
    const { timers } = this.#options
    let timer: Timer | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = timers.setTimeout(resolve, tuning.readerStopTimeoutMs)
    })
    // A thread that has ended needs no close.
    await Promise.race([this.call({ type: 'close' }).catch(() => {}), timeout])
    timers.clear(timer)
    await this.#thread.worker.terminate()
  }

  async terminate(): Promise<void> {
    this.#isClosing = true
    await this.#thread.worker.terminate()
  }

  /** Starts a thread and connects the writer to it. Throws when the system refuses another thread. */
  #start(): Thread {
    const [link, { port: commits, posts }] = newLink()
    try {
      const thread = this.#spawn(commits, posts)
      this.#options.connect(this.#options.index, link)
      return thread
    } catch (error) {
      link.port.close()
      throw error
    }
  }

  #spawn(commits: MessagePort, posts: SharedArrayBuffer): Thread {
    const { index, module, data } = this.#options
    const waiting = new WaitingJobs()
    const readerData: ReaderData = { ...data, index, commits, posts, waiting: waiting.memory }
    const worker = spawn(module, readerData, [commits], { maxYoungGenerationSizeMb: tuning.readerYoungGenerationMb })
    let cause: Error = new Error('the thread that reads has ended')
    let state: 'starting' | 'open' | 'failed' = 'starting'
    const failed = (error: Error): void => {
      cause = error
      if (state !== 'starting') return
      state = 'failed'
      this.#startFailed(error)
    }
    worker.once('message', ({ error }: Opened) => {
      if (error !== undefined) failed(fromMessage(error))
      else {
        state = 'open'
        this.#options.threads.started('reader')
      }
    })
    worker.on('message', (message: FromReader | Opened) => this.#receive(message))
    worker.on('error', failed)
    worker.on('exit', () => {
      if (state !== 'open') failed(cause)
      else if (!this.#isClosing) {
        this.#options.threads.ended('reader', cause)
        this.#replace(cause)
      }
    })
    return { worker, waiting, posts: new PostSignal(posts) }
  }

  #replace(cause: Error): void {
    // The memory of the ended thread is freed.
    const { index, data } = this.#options
    if (data.clientMemory !== undefined) new MemoryAccount(data.clientMemory, 'main').refundAll({ reader: index })
    this.#unavailable = undefined
    try {
      this.#thread = this.#start()
      if (this.#cacheBytes !== undefined) this.cacheBytes = this.#cacheBytes
    } catch (error) {
      this.#retryLater(error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.failAll(cause)
  }

  /** Retries a start that failed for want of file descriptors. If the first start fails, `opened` rejects. */
  #startFailed(error: Error): void {
    if (this.#isClosing || !this.#hasOpened) return
    void this.#thread.worker.terminate()
    if (!isOutOfDescriptors(error)) {
      this.#isClosing = true
      this.#options.failed(error)
      return
    }
    this.#retryLater(error)
  }

  #retryLater(error: Error): void {
    const unavailable = threadUnavailable('reader', error)
    this.#unavailable = unavailable
    this.#options.threads.startFailed('reader', unavailable)
    this.failAll(unavailable)
    this.#retry = this.#options.timers.setTimeout(() => this.#replace(unavailable), limits.threadRetryMs)
  }

  #receive(message: FromReader | Opened): void {
    if ('damagedIndex' in message) this.#options.damagedIndex(...message.damagedIndex)
    else if ('pieces' in message) splitPieces(message.pieces, (id, piece) => this.#readings.get(id)?.push(piece))
    else if ('started' in message) this.#readings.get(message.started)?.start()
    else if ('id' in message) this.#settle(message)
    else assert(isOpened(message), 'a message of the reader thread is of a known kind')
  }

  #settle(message: Extract<FromReader, { id: number }>): void {
    const error = 'error' in message ? fromMessage(message.error) : undefined
    if (error === undefined) this.#options.disk.succeeded('query')
    else this.#options.disk.failed('query', error)
    const queue = this.#readings.get(message.id)
    if (queue === undefined) {
      // A cancelled reading may have ended before the thread received the cancellation.
      if (this.#pending.has(message.id))
        this.#pending.settle(message.id, 'result' in message ? message.result : undefined, error)
      return
    }
    this.#readings.delete(message.id)
    queue.end(error)
  }
}

function post({ worker, posts }: Thread, message: ToReader): void {
  worker.postMessage(message)
  if (isWork(message)) posts.raise()
}

/** Whether this is the first message of a thread, which `untilOpen` handles. */
function isOpened(message: Opened): boolean {
  return 'damage' in message || 'error' in message
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
