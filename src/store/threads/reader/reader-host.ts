import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { limits } from '../../../base/limits.ts'
import { tuning } from '../../../base/tuning.ts'
import { Holding, MemoryAccount, outOfClientMemory } from '../../../client-memory/account.ts'
import type { PublicKey } from '../../../identity/index.ts'
import { letOthersGoFirst, priorities } from '../../../runtime/thread-priority.ts'
import { appHash, LogReader, SharedCounts, spareMemory } from '../../sqlite/index.ts'
import { type ErrorMessage, open, pause, toMessage } from '../thread-messages.ts'
import { JobQueue, type Queued } from './job-queue.ts'
import { joinPieces, type Piece, type Pieces } from './pieces.ts'

export interface ReaderData {
  readonly file: string
  readonly own: Uint8Array
  readonly counts: SharedArrayBuffer
  /** Through which the writer tells that streams have grown: by how much is in the shared counts. */
  readonly commits: MessagePort
  readonly gate: SharedArrayBuffer
  /** The account of client memory that queries are charged to. */
  readonly clientMemory: SharedArrayBuffer | undefined
}

export type ToReader =
  | { readonly type: 'start'; readonly id: number; readonly job: string; readonly request: unknown }
  /** So many bytes were taken: as many may follow. Memory that they were in comes back. */
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number; readonly spare: readonly ArrayBuffer[] }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'streams' | 'close'; readonly id: number }
  | { readonly type: 'checkpoints' | 'chunkSizes'; readonly id: number; readonly stream: number }
  | {
      readonly type: 'newestTime'
      readonly id: number
      readonly stream: number
      readonly from: number
      readonly to: number
    }
  | {
      readonly type: 'chunk'
      readonly id: number
      readonly stream: number
      readonly from: number
      readonly newest: Uint8Array | undefined
    }

export type FromReader =
  | { readonly pieces: Pieces }
  | { readonly started: number }
  | { readonly id: number; readonly result: unknown }
  /** A piece of the index is damaged. */
  | { readonly damagedIndex: readonly [stream: number, offset: number] }
  | { readonly id: number; readonly error: ErrorMessage }

/** Something that is read for somebody, in slices: a query, or a subscription. */
export interface Job {
  /** Whether it waits for the next commit when it has read everything. */
  readonly isLive?: boolean
  /** The app whose events it waits for, where it waits for those of one app only. */
  readonly appId?: string | undefined
  /**
   * Works until the time is over, a piece is full, or there is nothing to do: for now, then it waits for the next
   * commit, or for good.
   */
  run(deadline: number): 'busy' | 'waiting' | 'done'
  /** What it has written since the last time: good until the job runs again, and its memory may be taken away. */
  take(): Uint8Array<ArrayBuffer>
  /** Bytes that it holds until it runs again, roughly: charged to the memory of clients. */
  readonly heldBytes?: number
}

/** Makes a job in steps: it gives way at every `yield`. What is wrong with the request is thrown. */
export type Preparation = Generator<void, Job>

/** Makes a job, at once where that takes little time. */
export type JobMaker = (reader: LogReader, request: unknown) => Job | Preparation

/** What has to be known of a request before a job is made of it. */
export interface RequestFacts {
  /** The app that asks: apps take turns. */
  appOf(request: unknown): string
  /** Bytes that it takes up while it is open, whatever it holds beside that. */
  costOf(request: unknown): number
}

interface Running extends Queued {
  readonly id: number
  /** There is none before it was prepared. */
  job: Job | undefined
  readonly preparation: Preparation
  /** Bytes that whoever reads it takes before it has to wait. */
  credit: number
  state: 'busy' | 'waiting' | 'done'
  /** What it is charged for. */
  readonly holding: Holding
}

/**
 * While events are published, long queries give way: a thread that never waits for anything is left on its processor for a
 * while even when one that should go first wakes up there. So their slices are shorter, with a pause after each.
 */
const givingWay = { forMs: 100, sliceMs: 2, pauseMs: 0.02 } as const

/** Runs jobs in slices, the short ones first, each only as far ahead of its reader as its credit goes. */
class ReaderHost {
  readonly #port: MessagePort
  readonly #makers: Readonly<Record<string, JobMaker>>
  readonly #facts: RequestFacts
  readonly #reader: LogReader
  readonly #counts: SharedCounts
  readonly #account: MemoryAccount
  readonly #jobs = new Map<number, Running>()
  /** Those that have something to do. */
  readonly #queue = new JobQueue<Running>()
  #scheduled = false
  /** Whether a job was not done with its slice of the last round. */
  #hasLongJob = false
  /** How often events were appended, and when that was found to have risen. */
  #seen = { appends: 0, at: Number.NEGATIVE_INFINITY }

  constructor(
    port: MessagePort,
    { file, own, counts, commits, clientMemory }: ReaderData,
    makers: Readonly<Record<string, JobMaker>>,
    facts: RequestFacts,
  ) {
    this.#port = port
    this.#makers = makers
    this.#facts = facts
    this.#counts = new SharedCounts(counts)
    this.#reader = new LogReader(file, this.#counts, own as PublicKey)
    this.#account = new MemoryAccount(clientMemory ?? MemoryAccount.create(limits.mostClientMemory).memory, 'reader')
    this.#counts.waitFor('none')
    this.#reader.onDamagedIndex = (stream, offset) => this.#post({ damagedIndex: [stream, offset] })
    port.on('message', (message: ToReader) => this.#receive(message))
    commits.on('message', () => this.#wake())
  }

  *#make(name: string, request: unknown): Preparation {
    const maker = this.#makers[name]
    assert(maker !== undefined, `there is no job '${name}'`)
    const made = maker(this.#reader, request)
    return 'run' in made ? made : yield* made
  }

  #receive(message: ToReader): void {
    try {
      if (message.type === 'start') this.#start(message.id, message.job, message.request)
      else if (message.type === 'credit') this.#credit(message)
      else if (message.type === 'cancel') this.#cancel(message.id)
      else this.#post({ id: message.id, result: this.#call(message) })
    } catch (error) {
      this.#post({ id: message.id, error: toMessage(error) })
    }
    if (message.type === 'cancel') this.#wait()
  }

  #call(message: Exclude<ToReader, { type: 'start' | 'credit' | 'cancel' }>): unknown {
    switch (message.type) {
      case 'streams':
        return this.#reader.status()
      case 'checkpoints':
        return this.#reader.checkpoints(message.stream)
      case 'chunkSizes':
        return this.#reader.chunkSizes(message.stream)
      case 'newestTime':
        return this.#reader.newestTime(message.stream, message.from, message.to)
      case 'chunk':
        return this.#reader.chunk(message.stream, message.from, message.newest)
      case 'close':
        this.#reader.close()
        // After the answer, which would not get through any more.
        setImmediate(() => this.#port.close())
        return undefined
      default:
        assert(false, `a reader is asked something that it knows, not '${(message as ToReader).type}'`)
    }
  }

  #start(id: number, name: string, request: unknown): void {
    assert(!this.#jobs.has(id), 'each job has a number of its own')
    const running: Running = {
      id,
      job: undefined,
      appId: this.#facts.appOf(request),
      preparation: this.#make(name, request),
      credit: tuning.bytesAhead,
      state: 'busy',
      ranMs: 0,
      holding: new Holding(this.#account),
    }
    // Before it is prepared: many that are prepared in turns hold as much as many that run.
    this.#charge(running, this.#facts.costOf(request))
    this.#jobs.set(id, running)
    this.#queue.push(running)
    this.#schedule()
  }

  #credit({ id, bytes, spare }: Extract<ToReader, { type: 'credit' }>): void {
    for (const memory of spare) spareMemory.give(memory)
    const running = this.#jobs.get(id)
    if (running === undefined) return
    const waited = running.credit <= 0
    running.credit += bytes
    assert(bytes >= 0 && running.credit <= tuning.bytesAhead, 'no more bytes are taken than were sent')
    if (!waited || running.credit <= 0 || running.state !== 'busy') return
    this.#queue.push(running)
    this.#schedule()
  }

  #cancel(id: number): void {
    const running = this.#jobs.get(id)
    if (running === undefined) return
    running.state = 'done'
    running.holding.close()
    this.#jobs.delete(id)
  }

  /** Charges what a job holds; throws when there is no room for that. */
  #charge({ holding }: Running, bytes: number): void {
    const more = bytes - holding.bytes
    if (more < 0) holding.refund(-more)
    else if (!holding.charge(more)) throw outOfClientMemory(this.#account)
  }

  #wake(): void {
    const woken: Running[] = []
    for (const running of this.#jobs.values()) {
      if (running.state !== 'waiting') continue
      running.state = 'busy'
      // What has come since is as much work as a new query.
      running.ranMs = 0
      if (running.credit > 0) woken.push(running)
    }
    if (woken.length === 0) return
    this.#queue.wake(woken)
    this.#schedule()
  }

  /** Says whose events to be told of: being told costs time, and looking at what nobody waits for even more. */
  #wait(): void {
    const apps = new Set<string | undefined>()
    for (const { job } of this.#jobs.values()) if (job?.isLive === true) apps.add(job.appId)
    const [app] = apps
    if (apps.size === 0) this.#counts.waitFor('none')
    else this.#counts.waitFor(apps.size > 1 || app === undefined ? 'all' : { app: appHash(app) })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#round())
  }

  /** Slices for the jobs whose turn it is, until the time for one slice has passed; what they wrote goes out together. */
  #round(): void {
    this.#scheduled = false
    // Asked in every round: otherwise a commit of long ago would be taken for a new one.
    const isPublishing = this.#isPublishing()
    const givesWay = this.#hasLongJob && isPublishing
    if (givesWay) pause(givingWay.pauseMs)
    this.#hasLongJob = false
    let now = performance.now()
    const end = now + (givesWay ? givingWay.sliceMs : tuning.sliceMs)
    const pieces: Piece[] = []
    const ended: FromReader[] = []
    const sliced: Running[] = []
    // At most one slice for each: what a job has written stays as it is until it is sent.
    do {
      const running = this.#queue.next(now)
      if (running === undefined) break
      if (running.state !== 'busy') continue
      const isFirst = running.ranMs === 0 && this.#queue.size > 0
      this.#slice(running, isFirst ? Math.min(end, now + tuning.firstSliceMs) : end, pieces, ended)
      const began = now
      now = performance.now()
      running.ranMs += now - began
      if (this.#jobs.has(running.id)) sliced.push(running)
    } while (now < end)
    if (pieces.length > 0) {
      const joined = joinPieces(pieces)
      this.#port.postMessage({ pieces: joined } satisfies FromReader, [joined.bytes.buffer])
    }
    for (const message of ended) this.#post(message)
    // After what was written has been handed over: it is charged to the connection that it goes to.
    for (const running of sliced) this.#goOn(running)
    if (this.#queue.size > 0) this.#schedule()
  }

  /** Charges what a job holds until its next slice, and has it wait for that; ends it when there is no room. */
  #goOn(running: Running): void {
    const heldBytes = running.job?.heldBytes
    try {
      if (heldBytes !== undefined) this.#charge(running, heldBytes)
      if (running.state === 'busy' && running.credit > 0) this.#queue.push(running)
    } catch (error) {
      this.#cancel(running.id)
      this.#post({ id: running.id, error: toMessage(error) })
      this.#wait()
    }
  }

  /** Whether events were published not long before this was asked the last time. */
  #isPublishing(): boolean {
    const { appends } = this.#counts
    const now = performance.now()
    if (appends !== this.#seen.appends) this.#seen = { appends, at: now }
    return now - this.#seen.at < givingWay.forMs
  }

  #slice(running: Running, end: number, pieces: Piece[], ended: FromReader[]): void {
    const { id } = running
    try {
      const job = running.job ?? this.#prepare(running, end)
      if (job === undefined) {
        this.#hasLongJob = true
        return
      }
      running.state = job.run(end)
      const bytes = job.take()
      if (bytes.length > 0) {
        running.credit -= bytes.length
        pieces.push({ id, bytes })
      }
      if (running.state === 'busy') this.#hasLongJob = true
      if (running.state !== 'done') return
      ended.push({ id, result: undefined })
    } catch (error) {
      running.state = 'done'
      ended.push({ id, error: toMessage(error) })
    }
    running.holding.close()
    this.#jobs.delete(id)
    this.#wait()
  }

  /** Prepares a job until the time is over. Nothing when that has to go on in its next slice. */
  #prepare(running: Running, end: number): Job | undefined {
    // From the moment on when a job looks at what is there it must not miss what comes.
    this.#counts.waitFor('all')
    try {
      running.job = stepsUntil(running.preparation, end)
      if (running.job !== undefined) this.#post({ started: running.id })
      return running.job
    } finally {
      this.#wait()
    }
  }

  #post(message: FromReader): void {
    this.#port.postMessage(message)
  }
}

/** Goes on with a preparation until the time is over; nothing when it is not done then. */
function stepsUntil(preparation: Preparation, end: number): Job | undefined {
  do {
    const step = preparation.next()
    if (step.done === true) return step.value
  } while (performance.now() < end)
  return undefined
}

/** Makes this thread one that reads: it runs the jobs that it has makers for. */
export function runReader(
  makers: Readonly<Record<string, JobMaker>>,
  facts: RequestFacts = { appOf: () => '', costOf: () => 0 },
): void {
  const port = parentPort
  assert(port !== null, 'a reader runs in a thread of its own')
  const data = workerData as ReaderData
  letOthersGoFirst(priorities.reading)
  open(port, () => new ReaderHost(port, data, makers, facts), data.gate)
}
