import type { MessagePort, TransferListItem } from 'node:worker_threads'
import { tuning } from '../../../base/tuning.ts'
import type { PublicKey } from '../../../identity/index.ts'
import type { Hash, StreamKey } from '../../../protocol/index.ts'
import {
  type AppendedFrames,
  type AppliedEvidence,
  ChunkSeries,
  type GivenChunk,
  type HeadPlace,
  type OwnHead,
  type PruneResult,
  type Received,
  type ReceivedTogether,
  type ReceiveOptions,
  type RedactionResult,
  type StreamHead,
} from '../../../replication/index.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'
import type {
  Checkpoint,
  EventLog,
  OwnHistory,
  RetentionQueries,
  StreamRecords,
  StreamStatus,
} from '../../port/index.ts'
import { LogReader, SharedCounts } from '../../sqlite/index.ts'
import { AppendNotices } from '../append-notices.ts'
import { PendingCalls } from '../pending-calls.ts'
import { PostSignal } from '../post-signal.ts'
import { noWatch, type ThreadWatch } from '../spawn.ts'
import { fromMessage, toMessage } from '../thread-messages.ts'
import { ChunkReceiving, receivedOne } from '../verifier/chunk-receiving.ts'
import type { CallerMessage, CallResult, WriterCall } from '../writer/writer-messages.ts'
import type { LogLink } from './log-link.ts'
import { ReadSlices } from './read-slices.ts'

type Replicated = Pick<
  EventLog & RetentionQueries & OwnHistory,
  | 'receive'
  | 'receiveAll'
  | 'applyPrune'
  | 'applyRedactions'
  | 'applyEvidence'
  | 'records'
  | 'evidence'
  | 'head'
  | 'chunk'
  | 'chunks'
  | 'hashAt'
  | 'checkpointsAfter'
  | 'heads'
  | 'headOf'
  | 'streamOf'
  | 'contains'
  | 'markAnnounced'
  | 'onAppended'
>

/**
 * The log of a topic in another thread than the main thread: the part that replication needs. It reads with a connection
 * of its own, in slices, and calls the writer directly. Chunks are verified in a thread that this thread starts.
 */
export class LinkedLog implements Replicated {
  readonly #port: MessagePort
  readonly #posts: PostSignal
  readonly #reader: LogReader
  readonly #slices: ReadSlices
  readonly #receiving: ChunkReceiving
  readonly #calls = new PendingCalls()
  readonly #notices = new AppendNotices((commits) => this.#post({ commits }, commits && [commits.port]))
  #ended: Error | undefined

  constructor({ file, kind, own, counts, port, posts }: LogLink, runtime: Runtime, threads: ThreadWatch = noWatch) {
    this.#port = port
    this.#posts = new PostSignal(posts)
    this.#reader = new LogReader(file, new SharedCounts(counts), own as PublicKey, runtime.clock)
    this.#slices = new ReadSlices(runtime)
    this.#receiving = new ChunkReceiving({
      kind,
      threads,
      bytesVerifiedHere: tuning.bytesVerifiedAtOnce,
      store: (chunks, from, transfer) =>
        this.#send('receiveVerified', [chunks, from], transfer) as Promise<ReceivedTogether>,
    })
    port.on('message', (results: readonly CallResult[]) => {
      for (const { id, result, error } of results) this.#calls.settle(id, result, error && fromMessage(error))
    })
    port.on('close', () => this.#end())
  }

  async receive(bytes: Uint8Array, { before, from }: ReceiveOptions = {}): Promise<Received> {
    return receivedOne(await this.receiveAll([{ bytes, before }], { from }))
  }

  /** A peer has connected: chunks may follow. */
  prepareToReceive(): void {
    if (this.#ended === undefined) this.#receiving.prepare()
  }

  async receiveAll(
    chunks: readonly GivenChunk[],
    { from }: Pick<ReceiveOptions, 'from'> = {},
  ): Promise<ReceivedTogether> {
    if (this.#ended !== undefined) throw this.#ended
    return this.#receiving.receive(chunks, from)
  }

  applyPrune(record: Uint8Array, head?: Uint8Array, options?: ReceiveOptions): Promise<PruneResult> {
    return this.#write('applyPrune', record, head, options) as Promise<PruneResult>
  }

  applyRedactions(records: readonly Uint8Array[], options?: ReceiveOptions): Promise<RedactionResult[]> {
    return this.#write('applyRedactions', records, options) as Promise<RedactionResult[]>
  }

  applyEvidence(record: Uint8Array, options?: ReceiveOptions): Promise<AppliedEvidence> {
    return this.#write('applyEvidence', record, options) as Promise<AppliedEvidence>
  }

  evidence(stream: number): Promise<Uint8Array | undefined> {
    return this.#write('evidence', stream) as Promise<Uint8Array | undefined>
  }

  records(stream: number, from?: number, to?: number): Promise<StreamRecords> {
    return this.#write('records', stream, from, to) as Promise<StreamRecords>
  }

  head(stream: number): Promise<Uint8Array | undefined> {
    return this.#write('head', stream) as Promise<Uint8Array | undefined>
  }

  headOf(key: StreamKey): Promise<StreamHead | undefined> {
    return this.#write('headOf', key) as Promise<StreamHead | undefined>
  }

  /** Read in slices, in each of which as many streams are read as fit into it. */
  async heads(): Promise<StreamHead[]> {
    const own = (await this.#write('ownHeads')) as OwnHead[]
    const heads: StreamHead[] = []
    for (let from: number | undefined = 0; from !== undefined; ) {
      const start: number = from
      const part = await this.#read((reader) =>
        reader.serve((server) => server.headsFrom(own, start, tuning.headsPerRead)),
      )
      heads.push(...part.heads)
      from = part.next
    }
    return heads
  }

  async markAnnounced(): Promise<void> {
    await this.#write('markAnnounced')
  }

  async chunk(stream: number, from: number, maxBytes?: number): Promise<Uint8Array | undefined> {
    const newest = await this.head(stream)
    return this.#read((reader) => reader.chunk(stream, from, newest, maxBytes))
  }

  /** Each chunk is read in a slice of its own. */
  async chunks(stream: number, from: number, maxBytes: number): Promise<Uint8Array[]> {
    const newest = await this.head(stream)
    const chunks = new ChunkSeries(from, maxBytes)
    const readNext = () => this.#read((reader) => reader.serve((server) => server.readNext(stream, chunks, newest)))
    let hasMore = await readNext()
    // The following ones may have been pruned meanwhile: those that were read are good.
    while (hasMore) hasMore = await readNext().catch(() => false)
    return chunks.read
  }

  hashAt(stream: number, count: number): Promise<Hash | 'pruned' | undefined> {
    return this.#read((reader) => reader.serve((server) => server.hashAt(stream, count)))
  }

  checkpointsAfter(stream: number, count: number, most: number): Promise<Checkpoint[]> {
    return this.#read((reader) => reader.checkpointsAfter(stream, count, most))
  }

  streamOf(key: StreamKey): Promise<StreamStatus | undefined> {
    return this.#read((reader) => reader.statusOf(key))
  }

  contains(head: Uint8Array): Promise<HeadPlace> {
    return this.#read((reader) => reader.serve((server) => server.contains(head)))
  }

  onAppended(listener: (appended: readonly AppendedFrames[]) => void): () => void {
    return this.#ended === undefined ? this.#notices.add(listener) : () => {}
  }

  /** Closes the link. What waits is rejected. */
  async close(): Promise<void> {
    this.#end()
    await this.#receiving.close()
  }

  #write(call: WriterCall, ...args: readonly unknown[]): Promise<unknown> {
    return this.#send(call, args)
  }

  #send(call: WriterCall, args: readonly unknown[], transfer?: readonly TransferListItem[]): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return this.#calls.add((id) => this.#post({ id, call, args }, transfer))
  }

  #post(message: CallerMessage, transfer: readonly TransferListItem[] = []): void {
    this.#port.postMessage(message, transfer)
    this.#posts.raise()
  }

  #read<T>(read: (reader: LogReader) => T): Promise<T> {
    return this.#slices.run(() => {
      if (this.#ended !== undefined) throw this.#ended
      try {
        return read(this.#reader)
      } catch (error) {
        // As from a reader thread: errors of the disk have a code.
        throw fromMessage(toMessage(error))
      }
    })
  }

  #end(): void {
    if (this.#ended !== undefined) return
    this.#ended = new Error('the link to the store is closed')
    this.#notices.close()
    this.#port.close()
    this.#calls.failAll(this.#ended)
    this.#reader.close()
  }
}
