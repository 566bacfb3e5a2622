import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { KeyPair } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import type { TopicKind } from '../../protocol/index.ts'
import { threadModule } from '../../thread-module.ts'
import { nowMicros } from '../../time.ts'
import type { EventStore, Reading, StreamStatus } from '../event-store.ts'
import type { Appended, AppendRequest, ChunkSize, NewestTime, Received, Selection } from '../log/index.ts'
import { SharedCounts } from '../log/index.ts'
import type { BackupData, FromBackup } from './backup-thread.ts'
import { fromMessage, Gate, type Opened, packRequest } from './messages.ts'
import { PieceQueue } from './piece-queue.ts'
import { splitPieces } from './pieces.ts'
import type { FromReader, ReaderData, ToReader } from './reader-host.ts'
import type { SealerData } from './sealer-thread.ts'
import type { FromWriter, ToWriter, WriterCall, WriterData } from './writer-thread.ts'

export interface EventStoreOptions {
  readonly file: string
  readonly topic: string
  readonly kind: TopicKind
  readonly key: KeyPair
  /** The module that runs in the thread that reads: it may know more jobs than the store does. */
  readonly readerModule?: URL
  /** Is told how many requests went into a commit. */
  readonly committed?: (requests: number) => void
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** The events of a topic in an SQLite database, with a thread that writes and a thread that reads. */
export class SqliteEventStore implements EventStore {
  readonly #file: string
  readonly #writer: Worker
  readonly #reader: Worker
  /** Threads that nobody talks to from here. */
  readonly #others: readonly Worker[]
  readonly #toWriter = new Map<number, Waiting>()
  readonly #toReader = new Map<number, Waiting>()
  readonly #readings = new Map<number, PieceQueue>()
  #nextId = 0
  #closing: Promise<void> | undefined
  /** Why nothing can be asked any more. */
  #ended: Error | undefined

  private constructor(options: EventStoreOptions, writer: Worker, reader: Worker, others: readonly Worker[]) {
    const { file, committed } = options
    this.#file = file
    this.#writer = writer
    this.#reader = reader
    this.#others = others
    writer.on('message', (messages: FromWriter) => {
      for (const { id, result, error } of messages) settle(this.#toWriter, id, result, error && fromMessage(error))
      if (isCommit(messages)) committed?.(messages.length)
    })
    reader.on('message', (message: FromReader) => this.#fromReader(message))
    for (const thread of [writer, reader, ...others]) {
      thread.on('error', (error) => this.#failAll(error))
      // On purpose only after the last answer; otherwise whoever waits, and whoever comes, would wait for ever.
      thread.on('exit', () => {
        if (this.#closing === undefined) this.#end(new Error('a thread of the store has ended'))
      })
    }
  }

  static async open(options: EventStoreOptions): Promise<SqliteEventStore> {
    const { file, topic, kind, key, readerModule = moduleOf('reader-thread') } = options
    const counts = new SharedCounts().memory
    const gate = new Gate()
    const seals = new MessageChannel()
    const commits = new MessageChannel()
    const ports = { sealer: seals.port1, commits: commits.port1 }
    const writerData: WriterData = { file, topic, kind, privateKey: key.toPrivateText(), counts, ...ports }
    const readerData: ReaderData = { file, own: key.publicKey, counts, commits: commits.port2, gate: gate.memory }
    const writer = spawn(moduleOf('writer-thread'), writerData, Object.values(ports))
    const reader = spawn(readerModule, readerData, [commits.port2])
    try {
      await Promise.all([untilOpen(writer).then(() => gate.open()), untilOpen(reader)])
    } catch (error) {
      await Promise.all([writer, reader].map((worker) => worker.terminate()))
      throw error
    }
    // Nobody waits for the sealer: what it is to do waits in its port until it has started.
    const sealerData: SealerData = { file, port: seals.port2 }
    const sealer = spawn(moduleOf('sealer-thread'), sealerData, [seals.port2])
    const store = new SqliteEventStore(options, writer, reader, [sealer])
    untilOpen(sealer).catch((error) => {
      // Whoever closes the store does not need it any more.
      if (store.#closing === undefined) store.#end(error)
    })
    return store
  }

  append(request: AppendRequest): Promise<Appended> {
    const append = packRequest(request)
    return this.#ask(this.#toWriter, (id) =>
      this.#writer.postMessage({ id, append } satisfies ToWriter, [append]),
    ) as Promise<Appended>
  }

  receive(chunk: Uint8Array): Promise<Received> {
    return this.#write('receive', chunk) as Promise<Received>
  }

  prune(stream: number, count: number): Promise<Uint8Array> {
    return this.#write('prune', stream, count) as Promise<Uint8Array>
  }

  async applyPrune(record: Uint8Array, head?: Uint8Array): Promise<void> {
    await this.#write('applyPrune', record, head)
  }

  redact(stream: number, offset: number): Promise<Uint8Array> {
    return this.#write('redact', stream, offset) as Promise<Uint8Array>
  }

  async applyRedaction(record: Uint8Array): Promise<void> {
    await this.#write('applyRedaction', record)
  }

  streams(): Promise<StreamStatus[]> {
    return this.#call({ type: 'streams' }) as Promise<StreamStatus[]>
  }

  head(stream: number): Promise<Uint8Array | undefined> {
    return this.#write('head', stream) as Promise<Uint8Array | undefined>
  }

  checkpoints(stream: number): Promise<{ count: number; head: Uint8Array }[]> {
    return this.#call({ type: 'checkpoints', stream }) as Promise<{ count: number; head: Uint8Array }[]>
  }

  chunkSizes(stream: number): Promise<ChunkSize[]> {
    return this.#call({ type: 'chunkSizes', stream }) as Promise<ChunkSize[]>
  }

  newestTime(stream: number, from: number, to: number): Promise<NewestTime> {
    return this.#call({ type: 'newestTime', stream, from, to }) as Promise<NewestTime>
  }

  async chunk(stream: number, from: number): Promise<Uint8Array | undefined> {
    const newest = await this.head(stream)
    return (await this.#call({ type: 'chunk', stream, from, newest })) as Uint8Array | undefined
  }

  /** Seals everything that can be sealed, and folds the write-ahead log back. */
  async settle(): Promise<void> {
    await this.#write('sealAll')
    await this.#write('foldLog')
  }

  /** Copies everything that is stored at one moment into a new file, while the store is used. */
  async backup(target: string): Promise<void> {
    const data: BackupData = { file: this.#file, target, now: nowMicros() }
    const worker = spawn(moduleOf('backup-thread'), data)
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

  /** Starts a job that the module of the reader knows. */
  start(job: string, request: unknown): Reading {
    const id = this.#nextId++
    const queue = new PieceQueue(
      (bytes) => this.#reader.postMessage({ type: 'credit', id, bytes } satisfies ToReader),
      () => {
        this.#readings.delete(id)
        this.#reader.postMessage({ type: 'cancel', id } satisfies ToReader)
      },
    )
    if (this.#ended !== undefined) {
      queue.end(this.#ended)
      return queue
    }
    this.#readings.set(id, queue)
    this.#reader.postMessage({ type: 'start', id, job, request } satisfies ToReader)
    return queue
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      // The writer last: the last connection to close folds the write-ahead log back, and only the writer's can.
      if (this.#ended === undefined) await this.#call({ type: 'close' })
      await Promise.all(this.#others.map((thread) => thread.terminate()))
      if (this.#ended === undefined) await this.#write('close')
    } finally {
      this.#end(new Error('the store is closed'))
      await Promise.all([this.#writer, this.#reader, ...this.#others].map((thread) => thread.terminate()))
    }
  }

  #write(call: WriterCall, ...args: readonly unknown[]): Promise<unknown> {
    return this.#ask(this.#toWriter, (id) => this.#writer.postMessage({ id, call, args } satisfies ToWriter))
  }

  #call(message: DistributiveOmit<Exclude<ToReader, { type: 'start' | 'credit' | 'cancel' }>, 'id'>): Promise<unknown> {
    return this.#ask(this.#toReader, (id) => this.#reader.postMessage({ ...message, id }))
  }

  #ask(waiting: Map<number, Waiting>, post: (id: number) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended)
        return
      }
      const id = this.#nextId++
      waiting.set(id, { resolve, reject })
      post(id)
    })
  }

  #fromReader(message: FromReader): void {
    if ('damagedIndex' in message) {
      // Nobody waits for it; when it fails, the next query that meets the damage tells it again.
      this.#write('dropIndexAt', ...message.damagedIndex).catch(() => {})
      return
    }
    if ('pieces' in message) {
      splitPieces(message.pieces, (id, piece) => this.#readings.get(id)?.push(piece))
      return
    }
    if ('started' in message) {
      this.#readings.get(message.started)?.start()
      return
    }
    const queue = this.#readings.get(message.id)
    if (queue === undefined) {
      if ('result' in message) settle(this.#toReader, message.id, message.result, undefined)
      else if ('error' in message) settle(this.#toReader, message.id, undefined, fromMessage(message.error))
      return
    }
    this.#readings.delete(message.id)
    queue.end('error' in message ? fromMessage(message.error) : undefined)
  }

  /** Whoever waits is told, and whoever comes. */
  #end(error: Error): void {
    this.#ended ??= error
    this.#failAll(error)
  }

  #failAll(error: Error): void {
    for (const waiting of [this.#toWriter, this.#toReader]) {
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    }
    for (const queue of this.#readings.values()) queue.end(error)
    this.#readings.clear()
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

function settle(waiting: Map<number, Waiting>, id: number, result: unknown, error: Error | undefined): void {
  const request = waiting.get(id)
  waiting.delete(id)
  if (error === undefined) request?.resolve(result)
  else request?.reject(error)
}

/** Whether these are the answers to what was appended together. */
function isCommit([first]: FromWriter): boolean {
  return typeof first?.result === 'object' && first.result !== null && 'runs' in first.result
}

function moduleOf(name: string): URL {
  return threadModule(name, import.meta.url)
}

function spawn(module: URL, workerData: unknown, transferList: MessagePort[] = []): Worker {
  const resourceLimits = { maxYoungGenerationSizeMb: limits.youngGenerationMb }
  return new Worker(module, { workerData, transferList, resourceLimits })
}

/** Waits until a thread says that it is open: what keeps it from that is thrown here. */
async function untilOpen(worker: Worker): Promise<void> {
  const { error } = await new Promise<Opened>((resolve, reject) => {
    worker.once('message', (message: Opened) => {
      worker.off('error', reject)
      resolve(message)
    })
    worker.once('error', reject)
  })
  if (error !== undefined) throw fromMessage(error)
}
