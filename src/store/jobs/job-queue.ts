import { tuning } from '../../base/tuning.ts'

/** A job in the queue. */
export interface Queued {
  /** The requesting app, for round robin. */
  readonly appId: string
  /** Total run time of all its slices, in milliseconds. */
  ranMs: number
}

/** Whether a job has run for so long that it goes behind the others. */
export function isLong({ ranMs }: Queued): boolean {
  return ranMs >= tuning.shortJobMs
}

/** Round robin by app; jobs of one app are FIFO. */
class RoundRobin<T extends Queued> {
  /** The next app first; no list is empty. */
  readonly #byApp = new Map<string, T[]>()
  size = 0

  push(job: T): void {
    const jobs = this.#byApp.get(job.appId)
    if (jobs === undefined) this.#byApp.set(job.appId, [job])
    else jobs.push(job)
    this.size++
  }

  shift(): T | undefined {
    const [first] = this.#byApp
    if (first === undefined) return undefined
    const [appId, jobs] = first
    const job = jobs.shift()
    this.#byApp.delete(appId)
    if (jobs.length > 0) this.#byApp.set(appId, jobs)
    this.size--
    return job
  }
}

/** Jobs with a similar total run time. */
interface Level<T extends Queued> {
  readonly jobs: RoundRobin<T>
  /** Since when none of them has run, in milliseconds. */
  waitingSince: number
}

/**
 * A multilevel queue with aging: jobs that a commit has woken, then new, short and long ones. A level that was not
 * served for a while goes first, so that it does not starve. Within a level it is round robin by app: an app with many
 * jobs does not delay the others.
 */
export class JobQueue<T extends Queued> {
  readonly #woken: T[] = []
  #served: Level<T> | undefined
  readonly #levels: readonly Level<T>[] = ['new', 'short', 'long'].map(() => ({
    jobs: new RoundRobin<T>(),
    waitingSince: 0,
  }))

  get size(): number {
    return this.#levels.reduce((sum, { jobs }) => sum + jobs.size, this.#woken.length)
  }

  /** Whether there are jobs other than long ones. */
  get hasUrgent(): boolean {
    const [fresh, short] = this.#levels
    return this.#woken.length > 0 || (fresh?.jobs.size ?? 0) > 0 || (short?.jobs.size ?? 0) > 0
  }

  push(job: T): void {
    const level = job.ranMs === 0 ? 0 : isLong(job) ? 2 : 1
    this.#levels[level]?.jobs.push(job)
  }

  /** Woken subscriptions come first: they are short and latency-sensitive. */
  wake(jobs: readonly T[]): void {
    for (const job of jobs) this.#woken.push(job)
  }

  /** Dequeues the next job, after the slice of the previous one has ended at `now`. */
  next(now: number): T | undefined {
    const starving = this.#starving(now)
    this.#served = undefined
    const woken = starving === undefined ? this.#woken.shift() : undefined
    if (woken !== undefined) return woken
    this.#served = starving ?? this.#levels.find(({ jobs }) => jobs.size > 0)
    return this.#served?.jobs.shift()
  }

  /** Whether the next job comes before others because its level was starving. */
  isStarving(now: number): boolean {
    return this.#starving(now) !== undefined
  }

  /** The level that has waited longest, if beyond the starvation limit. */
  #starving(now: number): Level<T> | undefined {
    // Measured from the end of a slice: else a level with slow steps would be starving after each of them.
    for (const level of this.#levels) if (level === this.#served || level.jobs.size === 0) level.waitingSince = now
    return this.#levels
      .filter(({ jobs, waitingSince }) => jobs.size > 0 && now - waitingSince >= tuning.starvingMs)
      .sort((a, b) => a.waitingSince - b.waitingSince)[0]
  }
}
