import { assert } from '../../base/assert.ts'
import { tuning } from '../../base/tuning.ts'
import { Holding, type MemoryAccount, outOfClientMemory } from '../../client-memory/account.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { EventReader } from '../port/index.ts'
import type { Job, JobSet, Preparation } from './job.ts'
import type { JobOutput, Piece } from './job-output.ts'
import { isLong, JobQueue, type Queued } from './job-queue.ts'
import { type WakeFilter, wakeFilterOf } from './wake-filter.ts'

/** The clock and the event loop that jobs are scheduled with. */
export type JobRuntime = Pick<Runtime, 'clock' | 'timers'>

export interface JobRunnerOptions {
  readonly reader: EventReader
  readonly jobs: JobSet
  /** The account of client memory that jobs are charged to. */
  readonly account: MemoryAccount
  readonly output: JobOutput
  readonly runtime: JobRuntime
  /** Milliseconds for the slices of a round; may be shorter while there are long jobs. */
  readonly sliceMs?: (hasLongJob: boolean) => number
  /** Whether messages wait for the event loop: slices end early for them. */
  readonly hasMessages?: () => boolean
  /** Called when the number of waiting jobs may have changed. */
  readonly setWaiting?: (jobs: number) => void
  /** Called before a job takes the snapshot from which it waits, so that no commit is missed. */
  readonly setWakeFilter?: (events: WakeFilter) => void
}

interface Running extends Queued {
  readonly id: number
  /** Undefined until it is prepared. */
  job: Job | undefined
  readonly preparation: Preparation
  /** Backpressure: bytes that it may still send to the consumer. */
  credit: number
  state: 'busy' | 'waiting' | 'done'
  /** Its charged memory. */
  readonly holding: Holding
}

interface Ended {
  readonly id: number
  readonly outcome: { readonly error?: unknown }
}

/** When a slice ends, and how many milliseconds it runs before waiting messages can end it. */
interface SliceEnd {
  readonly at: number
  readonly uninterruptedMs: number
}

/**
 * Runs jobs in slices, short ones first, each only as far ahead of its consumer as its credit allows. It is independent
 * of threads and databases: it gets an `EventReader`, and `wake` is called after commits.
 */
export class JobRunner {
  readonly #reader: EventReader
  readonly #jobSet: JobSet
  readonly #account: MemoryAccount
  readonly #output: JobOutput
  readonly #runtime: JobRuntime
  readonly #sliceMs: (hasLongJob: boolean) => number
  readonly #hasMessages: () => boolean
  readonly #setWaiting: (jobs: number) => void
  readonly #setWakeFilter: (events: WakeFilter) => void
  readonly #jobs = new Map<number, Running>()
  /** Jobs that are ready to run. */
  readonly #queue = new JobQueue<Running>()
  #scheduled = false
  /** Number of jobs that wait for commits. */
  #waiting = 0
  /** Whether a job of the last round needs more slices. */
  #hasLongJob = false

  constructor(options: JobRunnerOptions) {
    this.#reader = options.reader
    this.#jobSet = options.jobs
    this.#account = options.account
    this.#output = options.output
    this.#runtime = options.runtime
    this.#sliceMs = options.sliceMs ?? (() => tuning.sliceMs)
    this.#hasMessages = options.hasMessages ?? (() => false)
    this.#setWaiting = options.setWaiting ?? (() => {})
    this.#setWakeFilter = options.setWakeFilter ?? (() => {})
    this.#setWakeFilter('none')
  }

  /** Starts a job with a unique ID. */
  start(id: number, name: string, request: unknown): void {
    assert(!this.#jobs.has(id), 'each job has a unique ID')
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
      // Before the preparation: many jobs in preparation hold as much memory as running ones.
      this.#charge(running, this.#jobSet.costOf?.(request) ?? 0)
    } catch (error) {
      this.#output.ended(id, { error })
      return
    }
    this.#jobs.set(id, running)
    this.#queue.push(running)
    this.#scheduleRound()
  }

  /** Adds to the credit of a job the bytes that its consumer has taken. */
  credit(id: number, bytes: number): void {
    const running = this.#jobs.get(id)
    if (running === undefined) return
    const waited = running.credit <= 0
    running.credit += bytes
    assert(bytes >= 0 && running.credit <= tuning.queryCreditBytes, 'no more bytes are credited than were sent')
    if (!waited || running.credit <= 0 || running.state !== 'busy') return
    this.#queue.push(running)
    this.#scheduleRound()
  }

  cancel(id: number): void {
    this.#drop(id)
    this.#updateWakeFilter()
  }

  /** Wakes live jobs after a commit. */
  wake(): void {
    const woken: Running[] = []
    for (const running of this.#jobs.values()) {
      if (running.state !== 'waiting') continue
      this.#setState(running, 'busy')
      // The new events are about as much work as a new query.
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
    this.#setState(running, 'done')
    running.holding.close()
    this.#jobs.delete(id)
  }

  #setState(running: Running, state: Running['state']): void {
    const waiting = this.#waiting + Number(state === 'waiting') - Number(running.state === 'waiting')
    running.state = state
    if (waiting === this.#waiting) return
    this.#waiting = waiting
    this.#setWaiting(waiting)
  }

  /** Adjusts the charged memory of a job. Throws at the limit. */
  #charge({ holding }: Running, bytes: number): void {
    const more = bytes - holding.bytes
    if (more < 0) holding.refund(-more)
    else if (!holding.charge(more)) throw outOfClientMemory(this.#account)
  }

  #updateWakeFilter(): void {
    this.#setWakeFilter(wakeFilterOf(this.#jobs.values()))
  }

  #scheduleRound(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#runtime.timers.setImmediate(() => this.#round())
  }

  /**
   * Runs jobs until the time of one slice is used up, and sends their output together. A long job has its own round: the
   * output of others does not wait for it.
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
    // At most one slice for each: the output of a job is valid until its next slice.
    do {
      const isStarving = this.#queue.isStarving(now)
      const running = this.#queue.next(now)
      if (running === undefined) break
      if (running.state !== 'busy') continue
      const isFirst = running.ranMs === 0 && this.#queue.size > 0
      const at = isFirst ? Math.min(end, now + tuning.firstSliceMs) : end
      // Messages without a pause must not take its turn from a job that was starving.
      const uninterruptedMs = isStarving ? sliceMs : isLong(running) ? tuning.longSliceMs : tuning.firstSliceMs
      this.#slice(running, { at, uninterruptedMs }, pieces, ended)
      const began = now
      now = this.#runtime.clock.steadyMs()
      running.ranMs += now - began
      if (this.#jobs.has(running.id)) sliced.push(running)
    } while (now < end && this.#queue.hasUrgent && !this.#queue.isStarving(now))
    if (pieces.length > 0) this.#output.written(pieces)
    for (const { id, outcome } of ended) this.#output.ended(id, outcome)
    // After the output was handed over, which is charged to the connection from then on.
    for (const running of sliced) this.#requeue(running)
    if (this.#queue.size > 0) this.#scheduleRound()
  }

  /** Charges the memory that a job holds until its next slice, and queues it. Ends it at the limit. */
  #requeue(running: Running): void {
    // The consumer may have cancelled it.
    if (!this.#jobs.has(running.id)) return
    const heldBytes = running.job?.heldBytes
    try {
      if (heldBytes !== undefined) this.#charge(running, heldBytes)
      if (running.state === 'busy' && running.credit > 0) this.#queue.push(running)
    } catch (error) {
      this.#drop(running.id)
      this.#output.ended(running.id, { error })
      this.#updateWakeFilter()
    }
  }

  #slice(running: Running, end: SliceEnd, pieces: Piece[], ended: Ended[]): void {
    const { id } = running
    try {
      const job = running.job ?? this.#prepare(running, end)
      if (job === undefined) {
        this.#hasLongJob = true
        return
      }
      this.#setState(running, this.#run(job, end))
      const bytes = job.take()
      if (bytes.length > 0) {
        running.credit -= bytes.length
        pieces.push({ id, bytes })
      }
      if (running.state === 'busy') this.#hasLongJob = true
      if (running.state !== 'done') return
      ended.push({ id, outcome: {} })
    } catch (error) {
      this.#setState(running, 'done')
      ended.push({ id, outcome: { error } })
    }
    running.holding.close()
    this.#jobs.delete(id)
    this.#updateWakeFilter()
  }

  /** Runs a job until the end of the slice, in steps: between them it is checked whether messages wait. */
  #run(job: Job, { at, uninterruptedMs }: SliceEnd): Running['state'] {
    job.begin()
    let now = this.#runtime.clock.steadyMs()
    let state: Running['state']
    do {
      state = job.run(Math.min(at, now + uninterruptedMs))
      now = this.#runtime.clock.steadyMs()
    } while (state === 'busy' && !job.isFull && now < at && !this.#hasMessages())
    return state
  }

  /** Prepares a job; undefined when the preparation continues in the next slice. */
  #prepare(running: Running, end: SliceEnd): Job | undefined {
    // Before a job takes its first snapshot, so that it misses no commit after it.
    this.#setWakeFilter('all')
    try {
      running.job = this.#prepareUntil(running.preparation, end)
      if (running.job !== undefined) this.#output.started(running.id)
      return running.job
    } finally {
      this.#updateWakeFilter()
    }
  }

  #prepareUntil(preparation: Preparation, { at, uninterruptedMs }: SliceEnd): Job | undefined {
    let now = this.#runtime.clock.steadyMs()
    const interruptibleAt = now + uninterruptedMs
    do {
      const step = preparation.next()
      if (step.done === true) return step.value
      now = this.#runtime.clock.steadyMs()
    } while (now < at && (now < interruptibleAt || !this.#hasMessages()))
    return undefined
  }
}
