import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { limits } from '../../limits.ts'
import type { Reading } from '../event-store.ts'
import { fromMessage } from './messages.ts'
import { PieceQueue } from './piece-queue.ts'
import { splitPieces } from './pieces.ts'
import type { FromReader, ReaderData, ToReader } from './reader-host.ts'
import { spawn, untilOpen } from './spawn.ts'
import { newId, Waiting } from './waiting.ts'

interface ReadersOptions {
  readonly module: URL
  readonly data: Omit<ReaderData, 'commits'>
  /** Gives the writer the port through which it tells what has grown. */
  readonly connect: (commits: MessagePort) => void
  readonly damagedIndex: (stream: number, offset: number) => void
  /** There is no thread any more, and there will not be another one. */
  readonly failed: (error: Error) => void
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
  #isClosing = false

  constructor(options: ReadersOptions, commits: MessagePort) {
    this.#options = options
    this.#worker = this.#start(commits)
  }

  /** Fulfilled when the thread is ready for the first time. */
  opened(): Promise<void> {
    return untilOpen(this.#worker)
  }

  call(message: DistributiveOmit<Exclude<ToReader, { type: 'start' | 'credit' | 'cancel' }>, 'id'>): Promise<unknown> {
    return this.#waiting.ask((id) => this.#worker.postMessage({ ...message, id }))
  }

  /** Starts a job that the module of the thread knows. */
  start(job: string, request: unknown): Reading {
    const id = newId()
    const worker = this.#worker
    const queue = new PieceQueue(
      (bytes, spare) => worker.postMessage({ type: 'credit', id, bytes, spare } satisfies ToReader, spare),
      () => {
        this.#readings.delete(id)
        worker.postMessage({ type: 'cancel', id } satisfies ToReader)
      },
    )
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
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limits.readersStopMs)
    })
    await Promise.race([this.call({ type: 'close' }).catch(() => {}), late])
    clearTimeout(timer)
    await this.#worker.terminate()
  }

  async terminate(): Promise<void> {
    this.#isClosing = true
    await this.#worker.terminate()
  }

  #start(commits: MessagePort): Worker {
    const { module, data } = this.#options
    const readerData: ReaderData = { ...data, commits }
    const worker = spawn(module, readerData, [commits], limits.readerYoungGenerationMb)
    let cause: Error = new Error('the thread that reads has ended')
    worker.on('message', (message: FromReader) => this.#receive(message))
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      if (!this.#isClosing) this.#replace(cause)
    })
    return worker
  }

  #replace(cause: Error): void {
    const { port1, port2 } = new MessageChannel()
    this.#worker = this.#start(port2)
    this.#options.connect(port1)
    this.failAll(cause)
    untilOpen(this.#worker).catch((error: Error) => {
      if (this.#isClosing) return
      this.#isClosing = true
      this.#options.failed(error)
    })
  }

  #receive(message: FromReader): void {
    if ('damagedIndex' in message) this.#options.damagedIndex(...message.damagedIndex)
    else if ('pieces' in message) splitPieces(message.pieces, (id, piece) => this.#readings.get(id)?.push(piece))
    else if ('started' in message) this.#readings.get(message.started)?.start()
    else if ('id' in message) this.#answered(message)
  }

  #answered(message: Extract<FromReader, { id: number }>): void {
    const error = 'error' in message ? fromMessage(message.error) : undefined
    const queue = this.#readings.get(message.id)
    if (queue === undefined) {
      this.#waiting.settle(message.id, 'result' in message ? message.result : undefined, error)
      return
    }
    this.#readings.delete(message.id)
    queue.end(error)
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
