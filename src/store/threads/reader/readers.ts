import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { limits } from '../../../base/limits.ts'
import { tuning } from '../../../base/tuning.ts'
import { MemoryAccount } from '../../../client-memory/account.ts'
import { isOutOfDescriptors } from '../../../runtime/descriptors.ts'
import type { Timer, Timers } from '../../../runtime/timers.ts'
import type { DiskReporter } from '../../disk/disk-notice.ts'
import { PieceQueue } from '../../jobs/piece-queue.ts'
import type { Reading } from '../../port/index.ts'
import { newId, Waiting } from '../pending-calls.ts'
import { noThread, spawn, type ThreadWatch, untilOpen } from '../spawn.ts'
import { fromMessage, type Opened } from '../thread-messages.ts'
import { splitPieces } from './pieces.ts'
import type { FromReader, ReaderData, ToReader } from './reader-host.ts'

interface ReadersOptions {
  readonly timers: Timers
  readonly module: URL
  readonly data: Omit<ReaderData, 'commits'>
  /** Gives the writer the port through which it tells what has grown. */
  readonly connect: (commits: MessagePort) => void
  readonly damagedIndex: (stream: number, offset: number) => void
  /** There is no thread any more, and there will not be another one. */
  readonly failed: (error: Error) => void
  /** Told of threads that end, and of those that cannot be started, which is tried again. */
  readonly threads: ThreadWatch
  readonly disk: DiskReporter
}

/**
 * The thread that reads, seen from the main one. A query that breaks it, say because it takes more memory than there is,
 * must not be the end of everything: whoever reads is told, and the next one finds a new thread.
 */
export class Readers {
  readonly #options: ReadersOptions
  readonly #waiting = new Waiting()
  readonly #readings = new Map<number, PieceQueue>()
  #worker: Worker
  /** Whether there was a thread that could read. */
  #hasOpened = false
  #isClosing = false
  /** Why there is no thread at the moment. */
  #missing: Error | undefined
  #retry: Timer | undefined

  constructor(options: ReadersOptions, commits: MessagePort) {
    this.#options = options
    this.#worker = this.#start(commits)
  }

  /** Fulfilled when the thread is ready for the first time. */
  async opened(): Promise<void> {
    await untilOpen(this.#worker)
    this.#hasOpened = true
  }

  call(message: DistributiveOmit<Exclude<ToReader, { type: 'start' | 'credit' | 'cancel' }>, 'id'>): Promise<unknown> {
    if (this.#missing !== undefined) return Promise.reject(this.#missing)
    return this.#waiting.ask((id) => this.#worker.postMessage({ ...message, id }))
  }

  /** Starts a job that the module of the thread knows. */
  start(job: string, request: unknown): Reading {
    const id = newId()
    const worker = this.#worker
    const queue = new PieceQueue(
      (bytes) => worker.postMessage({ type: 'credit', id, bytes } satisfies ToReader),
      () => {
        this.#readings.delete(id)
        worker.postMessage({ type: 'cancel', id } satisfies ToReader)
      },
    )
    if (this.#missing !== undefined) {
      queue.end(this.#missing)
      return queue
    }
    this.#readings.set(id, queue)
    worker.postMessage({ type: 'start', id, job, request } satisfies ToReader)
    return queue
  }

  failAll(error: Error): void {
    this.#waiting.failAll(error)
    for (const queue of this.#readings.values()) queue.end(error)
    this.#readings.clear()
  }

  /** Nothing can be lost here, so a thread that is busy is not waited for long. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#options.timers.clear(this.#retry)
    const { timers } = this.#options
    let timer: Timer | undefined
    const late = new Promise<void>((resolve) => {
      timer = timers.setTimeout(resolve, tuning.readerStopTimeoutMs)
    })
    // A thread that has ended, or ends instead of answering, is as closed as one that answers.
    await Promise.race([this.call({ type: 'close' }).catch(() => {}), late])
    timers.clear(timer)
    await this.#worker.terminate()
  }

  async terminate(): Promise<void> {
    this.#isClosing = true
    await this.#worker.terminate()
  }

  #start(commits: MessagePort): Worker {
    const { module, data } = this.#options
    const readerData: ReaderData = { ...data, commits }
    const worker = spawn(module, readerData, [commits], { maxYoungGenerationSizeMb: tuning.readerYoungGenerationMb })
    let cause: Error = new Error('the thread that reads has ended')
    let state: 'starting' | 'open' | 'failed' = 'starting'
    const failed = (error: Error): void => {
      cause = error
      if (state !== 'starting') return
      state = 'failed'
      this.#notStarted(error)
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
    return worker
  }

  #replace(cause: Error): void {
    const { port1, port2 } = new MessageChannel()
    // What the thread held is gone with it.
    const { clientMemory } = this.#options.data
    if (clientMemory !== undefined) new MemoryAccount(clientMemory, 'main').refundAll('reader')
    this.#missing = undefined
    try {
      this.#worker = this.#start(port2)
    } catch (error) {
      // The system refuses another thread.
      port1.close()
      this.#retryLater(error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.#options.connect(port1)
    this.failAll(cause)
  }

  /** When the first thread cannot be started, whoever opens the store is told. */
  #notStarted(error: Error): void {
    if (this.#isClosing || !this.#hasOpened) return
    void this.#worker.terminate()
    if (!isOutOfDescriptors(error)) {
      this.#isClosing = true
      this.#options.failed(error)
      return
    }
    this.#retryLater(error)
  }

  #retryLater(error: Error): void {
    const missing = noThread('reader', error)
    this.#missing = missing
    this.#options.threads.startFailed('reader', missing)
    this.failAll(missing)
    this.#retry = this.#options.timers.setTimeout(() => this.#replace(missing), limits.threadRetryMs)
  }

  #receive(message: FromReader | Opened): void {
    if ('damagedIndex' in message) this.#options.damagedIndex(...message.damagedIndex)
    else if ('pieces' in message) splitPieces(message.pieces, (id, piece) => this.#readings.get(id)?.push(piece))
    else if ('started' in message) this.#readings.get(message.started)?.start()
    else if ('id' in message) this.#answered(message)
    else assert(isOpened(message), 'a message of a reader is of a known kind')
  }

  #answered(message: Extract<FromReader, { id: number }>): void {
    const error = 'error' in message ? fromMessage(message.error) : undefined
    if (error === undefined) this.#options.disk.succeeded('query')
    else this.#options.disk.failed('query', error)
    const queue = this.#readings.get(message.id)
    if (queue === undefined) {
      // A reading that was cancelled may have ended before the thread heard of that.
      if (this.#waiting.has(message.id))
        this.#waiting.settle(message.id, 'result' in message ? message.result : undefined, error)
      return
    }
    this.#readings.delete(message.id)
    queue.end(error)
  }
}

/** The first message of a thread, which `untilOpen` looks at. */
function isOpened(message: Opened): boolean {
  return 'damage' in message || 'error' in message
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
