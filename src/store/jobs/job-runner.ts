import { assert } from '../../base/assert.ts'
import { tuning } from '../../base/tuning.ts'
import { Holding, type MemoryAccount, outOfClientMemory } from '../../client-memory/account.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { EventReader } from '../port/index.ts'
import type { Job, JobSet, Preparation } from './job.ts'
import { JobQueue, type Queued } from './job-queue.ts'

/** What a job has written; its memory may go away with it. */
export interface Piece {
  readonly id: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Takes what jobs have to say. */
export interface JobOutput {
  /** A job was prepared: nothing is wrong with its request. */
  started(id: number): void
  /** What the jobs of one round have written, one piece each; good until this returns. */
  written(pieces: readonly Piece[]): void
  /** A job is done, after all that it has written. */
  ended(id: number, outcome: { readonly error?: unknown }): void
}

/** Whose new events live jobs wait for. */
export type WaitedFor = 'all' | 'none' | { readonly appId: string }

/** When jobs run: by a steady clock, in turns of an event loop. */
export type JobRuntime = Pick<Runtime, 'clock' | 'timers'>

export interface JobRunnerOptions {
  readonly reader: EventReader
  readonly jobs: JobSet
  /** The account of client memory that jobs are charged to. */
  readonly account: MemoryAccount
  readonly output: JobOutput
  readonly runtime: JobRuntime
  /**
   * Milliseconds of the slices of a round: fewer where jobs that were not done with their last slices have to give
   * way.
   */
  readonly sliceMs?: (hasLongJob: boolean) => number
  /** Told whose commits to be woken for, before a job takes the snapshot that it waits from. */
  readonly waitFor?: (events: WaitedFor) => void
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

interface Ended {
  readonly id: number
  readonly outcome: { readonly error?: unknown }
}

/**
 * Runs jobs in slices, the short ones first, each only as far ahead of its reader as its credit goes. It knows the
 * log as an `EventReader` and is told of commits: threads and databases are the matter of whoever runs it.
 */
export class JobRunner {
  readonly #reader: EventReader
  readonly #jobSet: JobSet
  readonly #account: MemoryAccount
  readonly #output: JobOutput
  readonly #runtime: JobRuntime
  readonly #sliceMs: (hasLongJob: boolean) => number
  readonly #waitFor: (events: WaitedFor) => void
  readonly #jobs = new Map<number, Running>()
  /** Those that have something to do. */
  readonly #queue = new JobQueue<Running>()
  #scheduled = false
  /** Whether a job was not done with its slice of the last round. */
  #hasLongJob = false

  constructor(options: JobRunnerOptions) {
    this.#reader = options.reader
    this.#jobSet = options.jobs
    this.#account = options.account
    this.#output = options.output
    this.#runtime = options.runtime
    this.#sliceMs = options.sliceMs ?? (() => tuning.sliceMs)
    this.#waitFor = options.waitFor ?? (() => {})
    this.#waitFor('none')
  }

  /** Starts a job, under a number that no other job has. */
  start(id: number, name: string, request: unknown): void {
    assert(!this.#jobs.has(id), 'each job has a number of its own')
    const running: Running = {
      id,
      job: undefined,
      appId: this.#jobSet.appOf?.(request) ?? '',
      preparation: this.#make(name, request),
      credit: tuning.queryCreditBytes,
      state: 'busy',
      ranMs: 0,
      holding: new Holding(this.#account),
    }
    try {
      // Before it is prepared: many that are prepared in turns hold as much as many that run.
      this.#charge(running, this.#jobSet.costOf?.(request) ?? 0)
    } catch (error) {
      this.#output.ended(id, { error })
      return
    }
    this.#jobs.set(id, running)
    this.#queue.push(running)
    this.#scheduleRound()
  }

  /** So many bytes of a job were taken: as many may follow. */
  credit(id: number, bytes: number): void {
    const running = this.#jobs.get(id)
    if (running === undefined) return
    const waited = running.credit <= 0
    running.credit += bytes
    assert(bytes >= 0 && running.credit <= tuning.queryCreditBytes, 'no more bytes are taken than were sent')
    if (!waited || running.credit <= 0 || running.state !== 'busy') return
    this.#queue.push(running)
    this.#scheduleRound()
  }

  cancel(id: number): void {
    this.#drop(id)
    this.#wait()
  }

  /** Streams have grown: live jobs look again. */
  wake(): void {
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
    this.#scheduleRound()
  }

  *#make(name: string, request: unknown): Preparation {
    const maker = this.#jobSet.makers[name]
    assert(maker !== undefined, `there is no job '${name}'`)
    const made = maker(this.#reader, request, this.#runtime.clock)
    return 'run' in made ? made : yield* made
  }

  #drop(id: number): void {
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

  /** Updates the wake-up filter: only commits with events of these apps wake the reader. */
  #wait(): void {
    const apps = new Set<string | undefined>()
    for (const { job } of this.#jobs.values()) if (job?.isLive === true) apps.add(job.appId)
    const [appId] = apps
    if (apps.size === 0) this.#waitFor('none')
    else this.#waitFor(apps.size > 1 || appId === undefined ? 'all' : { appId })
  }

  #scheduleRound(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#runtime.timers.setImmediate(() => this.#round())
  }

  /**
   * Slices for the jobs whose turn it is, until the time for one slice has passed; what they wrote goes out
   * together.
   */
  #round(): void {
    this.#scheduled = false
    const sliceMs = this.#sliceMs(this.#hasLongJob)
    this.#hasLongJob = false
    let now = this.#runtime.clock.steadyMs()
    const end = now + sliceMs
    const pieces: Piece[] = []
    const ended: Ended[] = []
    const sliced: Running[] = []
    // At most one slice for each: what a job has written stays as it is until it is sent.
    do {
      const running = this.#queue.next(now)
      if (running === undefined) break
      if (running.state !== 'busy') continue
      const isFirst = running.ranMs === 0 && this.#queue.size > 0
      this.#slice(running, isFirst ? Math.min(end, now + tuning.firstSliceMs) : end, pieces, ended)
      const began = now
      now = this.#runtime.clock.steadyMs()
      running.ranMs += now - began
      if (this.#jobs.has(running.id)) sliced.push(running)
    } while (now < end)
    if (pieces.length > 0) this.#output.written(pieces)
    for (const { id, outcome } of ended) this.#output.ended(id, outcome)
    // After what was written has been handed over: it is charged to the connection that it goes to.
    for (const running of sliced) this.#goOn(running)
    if (this.#queue.size > 0) this.#scheduleRound()
  }

  /** Charges what a job holds until its next slice, and has it wait for that; ends it when there is no room. */
  #goOn(running: Running): void {
    // Whoever took what it has written may have cancelled it.
    if (!this.#jobs.has(running.id)) return
    const heldBytes = running.job?.heldBytes
    try {
      if (heldBytes !== undefined) this.#charge(running, heldBytes)
      if (running.state === 'busy' && running.credit > 0) this.#queue.push(running)
    } catch (error) {
      this.#drop(running.id)
      this.#output.ended(running.id, { error })
      this.#wait()
    }
  }

  #slice(running: Running, end: number, pieces: Piece[], ended: Ended[]): void {
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
      ended.push({ id, outcome: {} })
    } catch (error) {
      running.state = 'done'
      ended.push({ id, outcome: { error } })
    }
    running.holding.close()
    this.#jobs.delete(id)
    this.#wait()
  }

  /** Prepares a job until the time is over. Nothing when that has to go on in its next slice. */
  #prepare(running: Running, end: number): Job | undefined {
    // From the moment on when a job looks at what is there it must not miss what comes.
    this.#waitFor('all')
    try {
      running.job = this.#stepsUntil(running.preparation, end)
      if (running.job !== undefined) this.#output.started(running.id)
      return running.job
    } finally {
      this.#wait()
    }
  }

  /** Goes on with a preparation until the time is over; nothing when it is not done then. */
  #stepsUntil(preparation: Preparation, end: number): Job | undefined {
    do {
      const step = preparation.next()
      if (step.done === true) return step.value
    } while (this.#runtime.clock.steadyMs() < end)
    return undefined
  }
}
