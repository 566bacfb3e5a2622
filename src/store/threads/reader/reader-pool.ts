import { assert } from '../../../base/assert.ts'
import { limits } from '../../../base/limits.ts'
import { tuning } from '../../../base/tuning.ts'
import { processors } from '../../../runtime/processors.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'
import type { Reading } from '../../port/index.ts'
import { type ReaderOptions, ReaderSupervisor } from './reader-supervisor.ts'

/** How many reader threads a store starts when it is opened, and how many when there are queries for them. */
export interface ReaderCount {
  readonly atOpen: number
  readonly most: number
}

/** One processor is left to the other threads. */
export function defaultReaderCount(available = processors()): ReaderCount {
  return { atOpen: 1, most: Math.max(1, Math.min(available - 1, tuning.maxReaderThreads)) }
}

interface PoolOptions extends Omit<ReaderOptions, 'index'>, Pick<Runtime, 'clock'> {
  /** The capacity of the caches of all threads together. */
  readonly cacheBytes: number
}

/**
 * The reader threads of a store. A job goes to the thread with the least load, and stays there. Further threads are
 * started when all are busy: most devices never need them, and each takes memory.
 */
export class ReaderPool {
  readonly #options: PoolOptions
  readonly #most: number
  readonly #readers: ReaderSupervisor[]
  /** A further thread that is not open yet. */
  #starting: ReaderSupervisor | undefined
  /** When to start another thread, after a start has failed. */
  #retryAt = Number.NEGATIVE_INFINITY
  #isClosing = false
  #cacheBytes: number

  constructor(options: PoolOptions, { atOpen, most }: ReaderCount) {
    assert(1 <= atOpen && atOpen <= most && most <= tuning.maxReaderThreads, 'the number of reader threads is allowed')
    this.#options = options
    this.#most = most
    this.#cacheBytes = options.cacheBytes
    this.#readers = Array.from({ length: atOpen }, (_, index) => new ReaderSupervisor({ ...options, index }))
    this.#divideCache()
  }

  /** Resolves when the first threads are open. */
  async opened(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.opened()))
  }

  set cacheBytes(bytes: number) {
    this.#cacheBytes = bytes
    this.#divideCache()
  }

  call(message: Parameters<ReaderSupervisor['call']>[0]): Promise<unknown> {
    return this.#leastLoaded().call(message)
  }

  /** Starts a job of the reader module. */
  start(job: string, request: unknown): Reading {
    const reader = this.#leastLoaded()
    if (reader.load > 0) this.#startAnother()
    return reader.start(job, request)
  }

  failAll(error: Error): void {
    for (const reader of this.#readers) reader.failAll(error)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all([this.#starting?.terminate(), ...this.#readers.map((reader) => reader.close())])
  }

  async terminate(): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.#readers.map((reader) => reader.terminate()))
  }

  /** Idle threads in the order of their start: the caches of the first are the warmest. */
  #leastLoaded(): ReaderSupervisor {
    const least = this.#readers.reduce((least, reader) => {
      const more = reader.load - least.load || reader.readings - least.readings
      return more < 0 ? reader : least
    })
    return least
  }

  /** Among the threads that were started: a single one gets all of it. */
  #divideCache(): void {
    for (const reader of this.#readers) reader.cacheBytes = this.#cacheBytes / this.#readers.length
  }

  #startAnother(): void {
    const { clock, threads } = this.#options
    if (this.#starting !== undefined || this.#isClosing || this.#readers.length >= this.#most) return
    if (clock.steadyMs() < this.#retryAt) return
    const failed = (error: unknown): void => {
      this.#retryAt = clock.steadyMs() + limits.threadRetryMs
      if (!this.#isClosing) threads.startFailed('reader', error instanceof Error ? error : new Error(String(error)))
    }
    try {
      const reader = new ReaderSupervisor({ ...this.#options, index: this.#readers.length })
      this.#starting = reader
      reader
        .opened()
        .then(() => {
          if (this.#isClosing) return
          this.#readers.push(reader)
          this.#divideCache()
        })
        .catch(async (error: unknown) => {
          failed(error)
          await reader.terminate()
        })
        .finally(() => {
          this.#starting = undefined
        })
    } catch (error) {
      // The system refuses another thread.
      failed(error)
    }
  }
}
