import { tuning } from '../../base/tuning.ts'

/** What a queue knows of a job. */
export interface Queued {
  /** Who asked for it: apps take turns. */
  readonly appId: string
  /** Milliseconds that it has run, of all its slices together. */
  ranMs: number
}

/** Jobs of apps that take turns, those of one app in the order in which they came. */
class Turns<T extends Queued> {
  /** In the order of their turns; none is empty. */
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

/** Jobs that have run for about as long. */
interface Level<T extends Queued> {
  readonly jobs: Turns<T>
  /** Since when none of them had a turn, in milliseconds. */
  waitsSince: number
}

/**
 * A multilevel queue with aging: jobs that a commit has woken, then new, short and long ones. A level that had no turn for a
 * while goes first, so that it does not starve. Within a level it is round robin by app: an app with many jobs does not
 * delay the others.
 */
export class JobQueue<T extends Queued> {
  readonly #woken: T[] = []
  #served: Level<T> | undefined
  readonly #levels: readonly Level<T>[] = ['new', 'short', 'long'].map(() => ({ jobs: new Turns<T>(), waitsSince: 0 }))

  get size(): number {
    return this.#levels.reduce((sum, { jobs }) => sum + jobs.size, this.#woken.length)
  }

  push(job: T): void {
    const level = job.ranMs === 0 ? 0 : job.ranMs < tuning.shortJobMs ? 1 : 2
    this.#levels[level]?.jobs.push(job)
  }

  /** Woken subscriptions come first: they are short and latency-sensitive. */
  wake(jobs: readonly T[]): void {
    for (const job of jobs) this.#woken.push(job)
  }

  /** The next one in turn, at this time in milliseconds: the turn of the one before it has ended. */
  next(now: number): T | undefined {
    // From the end of a turn, not from its start: a level with slow steps would be starving after each of them.
    for (const level of this.#levels) if (level === this.#served || level.jobs.size === 0) level.waitsSince = now
    this.#served = undefined
    const starving = this.#starving(now)
    const woken = starving === undefined ? this.#woken.shift() : undefined
    if (woken !== undefined) return woken
    this.#served = starving ?? this.#levels.find(({ jobs }) => jobs.size > 0)
    return this.#served?.jobs.shift()
  }

  /** The level that has waited the longest, if that is too long. */
  #starving(now: number): Level<T> | undefined {
    return this.#levels
      .filter(({ jobs, waitsSince }) => jobs.size > 0 && now - waitsSince >= tuning.starvingMs)
      .sort((a, b) => a.waitsSince - b.waitsSince)[0]
  }
}
