import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../assert.ts'
import type { PublicKey } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import { release } from '../../memory.ts'
import { letOthersGoFirst, priorities } from '../../priority.ts'
import { ByteReader } from '../../protocol/index.ts'
import { restAfterWork } from '../../resting.ts'
import { Samples } from '../../samples.ts'
import { LogReader, SharedCounts, type StreamNumber, spareMemory } from '../log/index.ts'
import { appHash } from '../log/tag-index.ts'
import { type ErrorMessage, open, pause, toMessage } from './messages.ts'
import { joinPieces, type Piece, type Pieces } from './pieces.ts'

export interface ReaderData {
  readonly file: string
  readonly own: Uint8Array
  readonly counts: SharedArrayBuffer
  /** Through which the writer tells which streams have grown. */
  readonly commits: MessagePort
  readonly gate: SharedArrayBuffer
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
  /** The app whose events it waits for, where it waits for those of one app only. */
  readonly appId?: string | undefined
  /**
   * Works until the time is over, a piece is full, or there is nothing to do: for now, then it waits for the next
   * commit, or for good.
   */
  run(deadline: number): 'busy' | 'waiting' | 'done'
  /** What it has written since the last time: good until the job runs again, and its memory may be taken away. */
  take(): Uint8Array<ArrayBuffer>
  /** These streams have grown. */
  wake?(grown: ReadonlySet<StreamNumber>): void
}

/** Makes a job; what is wrong with the request is thrown. */
export type JobMaker = (reader: LogReader, request: unknown) => Job

/** Something that may be asked for, as an example. */
export interface SampleJob {
  readonly name: string
  readonly request: unknown
}

/** Makes samples that read little of what there is. */
export type SamplesOf = (reader: LogReader) => readonly SampleJob[]

interface Running {
  readonly id: number
  readonly job: Job
  /** Bytes that whoever reads it takes before it has to wait. */
  credit: number
  state: 'busy' | 'waiting' | 'done'
}

/**
 * While events are published, long queries give way: a thread that never waits for anything is left on its processor for a
 * while even when one that should go first wakes up there. So their slices are shorter, with a pause after each.
 */
const givingWay = { forMs: 100, sliceMs: 2, pauseMs: 0.02 } as const

/** Runs jobs in slices, one after the other in turn, each only as far ahead of its reader as its credit goes. */
class ReaderHost {
  readonly #port: MessagePort
  readonly #makers: Readonly<Record<string, JobMaker>>
  readonly #samplesOf: SamplesOf
  readonly #samples = new Samples<'jobs'>()
  readonly #reader: LogReader
  readonly #counts: SharedCounts
  readonly #jobs = new Map<number, Running>()
  /** Those that have something to do, in the order of their turns. */
  #turns: Running[] = []
  #scheduled = false
  /** Whether a job was not done with its slice of the last round. */
  #hasLongJob = false
  /** How often events were appended, and when that was found to have risen. */
  #seen = { appends: 0, at: Number.NEGATIVE_INFINITY }

  constructor(
    port: MessagePort,
    { file, own, counts, commits }: ReaderData,
    makers: Readonly<Record<string, JobMaker>>,
    samplesOf: SamplesOf,
  ) {
    this.#port = port
    this.#makers = makers
    this.#samplesOf = samplesOf
    this.#counts = new SharedCounts(counts)
    this.#reader = new LogReader(file, this.#counts, own as PublicKey)
    this.#counts.waitFor('none')
    this.#reader.onDamagedIndex = (stream, offset) => this.#post({ damagedIndex: [stream, offset] })
    port.on('message', (message: ToReader) => this.#receive(message))
    commits.on('message', (grown: readonly StreamNumber[]) => this.#wake(new Set(grown)))
    restAfterWork({ begins: () => this.#rest() })
  }

  /** Begins some jobs that are left where they are, so there is an object of each kind, and gives up what others have left. */
  #rest(): void {
    try {
      const begun = this.#samplesOf(this.#reader).map((sample) => this.#begin(sample))
      this.#samples.keep('jobs', [...begun, new ByteReader(new Uint8Array())])
    } finally {
      // They have read something as well.
      this.#reader.rest()
    }
  }

  /** A job that has done a little, and is not run again. */
  #begin({ name, request }: SampleJob): Job {
    const job = this.#make(name, request)
    job.run(performance.now())
    release(job.take())
    return job
  }

  #make(name: string, request: unknown): Job {
    const maker = this.#makers[name]
    assert(maker !== undefined, `there is no job '${name}'`)
    return maker(this.#reader, request)
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
    if (message.type === 'start' || message.type === 'cancel') this.#wait()
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
    }
  }

  #start(id: number, name: string, request: unknown): void {
    this.#counts.waitFor('all')
    const running: Running = { id, job: this.#make(name, request), credit: limits.bytesAhead, state: 'busy' }
    this.#post({ started: id })
    this.#jobs.set(id, running)
    this.#turns.push(running)
    this.#schedule()
  }

  #credit({ id, bytes, spare }: Extract<ToReader, { type: 'credit' }>): void {
    for (const memory of spare) spareMemory.give(memory)
    const running = this.#jobs.get(id)
    if (running === undefined) return
    const waited = running.credit <= 0
    running.credit += bytes
    if (!waited || running.credit <= 0 || running.state !== 'busy') return
    this.#turns.push(running)
    this.#schedule()
  }

  #cancel(id: number): void {
    const running = this.#jobs.get(id)
    if (running === undefined) return
    running.state = 'done'
    this.#jobs.delete(id)
  }

  /** Those who wait for a commit come first: they have little to do, and somebody looks at them. */
  #wake(grown: ReadonlySet<StreamNumber>): void {
    const woken: Running[] = []
    for (const running of this.#jobs.values()) {
      running.job.wake?.(grown)
      if (running.state !== 'waiting') continue
      running.state = 'busy'
      if (running.credit > 0) woken.push(running)
    }
    if (woken.length === 0) return
    this.#turns = [...woken, ...this.#turns]
    this.#schedule()
  }

  /** Says whose events to be told of: being told costs time, and looking at what nobody waits for even more. */
  #wait(): void {
    const apps = new Set<string | undefined>()
    for (const { job } of this.#jobs.values()) if (job.wake !== undefined) apps.add(job.appId)
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
    const end = performance.now() + (givesWay ? givingWay.sliceMs : limits.sliceMs)
    const pieces: Piece[] = []
    const ended: FromReader[] = []
    const turns = this.#turns
    this.#turns = []
    let at = 0
    // At most one slice for each: what a job has written stays as it is until it is sent.
    do {
      const running = turns[at++]
      if (running?.state === 'busy') this.#slice(running, end, pieces, ended)
    } while (at < turns.length && performance.now() < end)
    this.#turns = [...turns.slice(at), ...this.#turns]
    if (pieces.length > 0) {
      const joined = joinPieces(pieces)
      this.#port.postMessage({ pieces: joined } satisfies FromReader, [joined.bytes.buffer])
    }
    for (const message of ended) this.#post(message)
    if (this.#turns.length > 0) this.#schedule()
  }

  /** Whether events were published not long before this was asked the last time. */
  #isPublishing(): boolean {
    const { appends } = this.#counts
    const now = performance.now()
    if (appends !== this.#seen.appends) this.#seen = { appends, at: now }
    return now - this.#seen.at < givingWay.forMs
  }

  #slice(running: Running, end: number, pieces: Piece[], ended: FromReader[]): void {
    const { id, job } = running
    try {
      running.state = job.run(end)
      const bytes = job.take()
      if (bytes.length > 0) {
        running.credit -= bytes.length
        pieces.push({ id, bytes })
      }
      if (running.state === 'busy') this.#hasLongJob = true
      if (running.state === 'busy' && running.credit > 0) this.#turns.push(running)
      if (running.state !== 'done') return
      ended.push({ id, result: undefined })
    } catch (error) {
      running.state = 'done'
      ended.push({ id, error: toMessage(error) })
    }
    this.#jobs.delete(id)
    this.#wait()
  }

  #post(message: FromReader): void {
    this.#port.postMessage(message)
  }
}

/** Makes this thread one that reads: it runs the jobs that it has makers for. The samples are of what is asked for most. */
export function runReader(makers: Readonly<Record<string, JobMaker>>, samplesOf: SamplesOf = () => []): void {
  const port = parentPort
  assert(port !== null, 'a reader runs in a thread of its own')
  const data = workerData as ReaderData
  letOthersGoFirst(priorities.reading)
  open(port, () => new ReaderHost(port, data, makers, samplesOf), data.gate)
}
