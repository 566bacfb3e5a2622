import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { limits } from '../../../base/limits.ts'
import { MemoryAccount } from '../../../client-memory/account.ts'
import type { PublicKey } from '../../../identity/index.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'
import type { JobSet } from '../../jobs/job.ts'
import type { Piece } from '../../jobs/job-output.ts'
import { JobRunner } from '../../jobs/job-runner.ts'
import type { StreamNumber } from '../../port/index.ts'
import { appHash, LogReader, SharedCounts } from '../../sqlite/index.ts'
import { PostSignal } from '../post-signal.ts'
import { openAndReport, toMessage } from '../thread-messages.ts'
import { joinPieces } from './pieces.ts'
import { PublishPriority } from './publish-priority.ts'
import { WaitingJobs } from './reader-load.ts'
import { type FromReader, isWork, type ReaderCall, type ToReader } from './reader-messages.ts'

export interface ReaderData {
  readonly file: string
  /** The index of this thread among the reader threads. */
  readonly index: number
  readonly own: Uint8Array
  readonly counts: SharedArrayBuffer
  /** From the writer: wakes the reader after commits. The event counts are in shared memory. */
  readonly commits: MessagePort
  /** The signal that is raised for every message of `commits`, and for every message of the main thread that is work. */
  readonly posts: SharedArrayBuffer
  /** Where it reports its waiting jobs. */
  readonly waiting: SharedArrayBuffer
  readonly gate: SharedArrayBuffer
  /** The account of client memory that queries are charged to. */
  readonly clientMemory: SharedArrayBuffer | undefined
}

/** Runs jobs in the reader thread: dispatches messages to the job runner, and posts its output. */
class ReaderHost {
  readonly #port: MessagePort
  readonly #reader: LogReader
  readonly #runner: JobRunner
  readonly #timers: Runtime['timers']
  /** Number of received messages for which the signal was raised. */
  #received = 0
  #isClosed = false

  constructor(
    port: MessagePort,
    { file, index, own, counts: memory, commits, posts, waiting, clientMemory }: ReaderData,
    jobs: JobSet,
    runtime: Runtime,
  ) {
    this.#port = port
    this.#timers = runtime.timers
    const counts = new SharedCounts(memory)
    const signal = new PostSignal(posts)
    const waitingJobs = new WaitingJobs(waiting)
    const priority = new PublishPriority(counts, runtime.clock)
    this.#reader = new LogReader(file, counts, own as PublicKey, runtime.clock)
    this.#reader.index.onDamaged = (stream, offset) => this.#post({ damagedIndex: [stream, offset] })
    this.#runner = new JobRunner({
      reader: this.#reader,
      jobs,
      runtime,
      account: new MemoryAccount(clientMemory ?? MemoryAccount.create(limits.maxClientMemory).memory, {
        reader: index,
      }),
      output: {
        started: (id) => this.#post({ started: id }),
        written: (pieces) => this.#send(pieces),
        ended: (id, outcome) => this.#post('error' in outcome ? failed(id, outcome.error) : { id, result: undefined }),
      },
      sliceMs: (hasLongJob) => priority.sliceMs(hasLongJob),
      hasMessages: () => signal.isAheadOf(this.#received),
      setWaiting: (jobs) => {
        waitingJobs.count = jobs
      },
      setWakeFilter: (events) =>
        counts.setWakeupFilter(index, typeof events === 'string' ? events : { app: appHash(events.appId) }),
    })
    port.on('message', (message: ToReader) => this.#receive(message))
    commits.on('message', () => {
      this.#received++
      this.#runner.wake()
    })
    this.#timers.setImmediate(() => this.#indexTails(0))
  }

  /** Indexes the unsealed events of all streams, one in each turn of the event loop, before the first query has to. */
  #indexTails(stream: StreamNumber): void {
    if (this.#isClosed) return
    try {
      if (stream >= this.#reader.streams().length) return
      this.#reader.indexTail(stream)
    } catch {
      // Damaged events or a failing disk: queries read these events themselves, and report it.
      return
    }
    this.#timers.setImmediate(() => this.#indexTails(stream + 1))
  }

  #receive(message: ToReader): void {
    if (isWork(message)) this.#received++
    if (message.type === 'cacheBytes') {
      this.#reader.cacheBytes = message.bytes
      return
    }
    try {
      if (message.type === 'start') this.#runner.start(message.id, message.job, message.request)
      else if (message.type === 'credit') this.#runner.credit(message.id, message.bytes)
      else if (message.type === 'cancel') this.#runner.cancel(message.id)
      else this.#post({ id: message.id, result: this.#call(message) })
    } catch (error) {
      this.#post(failed(message.id, error))
    }
  }

  #call(message: ReaderCall): unknown {
    switch (message.type) {
      case 'streams':
        return this.#reader.status()
      case 'checkpoints':
        return this.#reader.checkpoints(message.stream)
      case 'chunkSizes':
        return this.#reader.chunkSizes(message.stream)
      case 'newestTime':
        return this.#reader.newestTime(message.stream, message.from, message.to)
      case 'redactedOffsets':
        return this.#reader.redactedOffsets(message.stream, message.from, message.to)
      case 'framesOfChunk':
        return this.#reader.framesOfChunk(message.stream, message.from)
      case 'chunk':
        return this.#reader.chunk(message.stream, message.from, message.newest, message.maxBytes)
      case 'chunks':
        return this.#reader.serve((server) =>
          server.chunks(message.stream, message.from, message.newest, message.maxBytes),
        )
      case 'hashAt':
        return this.#reader.serve((server) => server.hashAt(message.stream, message.count))
      case 'checkpointsAfter':
        return this.#reader.checkpointsAfter(message.stream, message.count, message.most)
      case 'headTable':
        return this.#reader.serve((server) => server.headTable(message.own))
      case 'streamOf':
        return this.#reader.statusOf(message.key)
      case 'contains':
        return this.#reader.serve((server) => server.contains(message.head))
      case 'close':
        this.#isClosed = true
        this.#reader.close()
        // After the reply, which a closed port would not deliver.
        this.#timers.setImmediate(() => this.#port.close())
        return undefined
      default:
        assert(false, `the reader has a method '${(message as ToReader).type}'`)
    }
  }

  #send(pieces: readonly Piece[]): void {
    const joined = joinPieces(pieces)
    this.#port.postMessage({ pieces: joined } satisfies FromReader, [joined.bytes.buffer])
  }

  #post(message: FromReader): void {
    this.#port.postMessage(message)
  }
}

function failed(id: number, error: unknown): FromReader {
  return { id, error: toMessage(error) }
}

/** Runs this thread as a reader thread with the given jobs. */
export function runReader(jobs: JobSet, runtime: Runtime): void {
  const port = parentPort
  assert(port !== null, 'the reader runs in a worker thread')
  const data = workerData as ReaderData
  openAndReport(port, () => new ReaderHost(port, data, jobs, runtime), data.gate)
}
