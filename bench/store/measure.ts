import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
/** Collects garbage of the preparation, so that the measurement does not include it. */
export const collectGarbage = runInNewContext('gc') as () => void

export function time(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

/** Processor time of this thread in milliseconds: other processes do not change it much. */
export function processorTime(work: () => void): number {
  const start = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1000
}

export async function timeAsync(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

type Measurement = (round: number) => number | Promise<number>

/**
 * Interleaves the subjects: each once per round, in rotating order, so that none always runs after the same one. The
 * first rounds are warm-up and not counted.
 */
export async function interleave<K extends string>(
  rounds: number,
  subjects: Readonly<Record<K, Measurement>>,
  uncounted = 1,
): Promise<Record<K, number[]>> {
  const names = Object.keys(subjects) as K[]
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>
  for (let round = 0; round < uncounted + rounds; round++)
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length] as K
      const ms = await subjects[name](round)
      if (round >= uncounted) results[name].push(ms)
    }
  return results
}

/** Records event loop delays of this thread by activity, while only the store works. */
export class LoopWatch {
  readonly #elsewhere = new Map<string, number>()
  readonly #delays = new Map<string, Delay[]>()

  async during<T>(activity: string, work: () => Promise<T>): Promise<T> {
    const delays = this.#delays.get(activity) ?? []
    this.#delays.set(activity, delays)
    // A new histogram each time: a restarted one would count the time in between as a delay.
    const histogram = monitorEventLoopDelay({ resolution: 1 })
    histogram.enable()
    try {
      return await work()
    } finally {
      histogram.disable()
      delays.push(...delaysOf(histogram))
    }
  }

  /** Records the p99 that another process has measured. */
  add(activity: string, p99: number): void {
    this.#elsewhere.set(activity, p99)
  }

  /** Milliseconds by activity, in descending order. */
  p99(): [activity: string, ms: number][] {
    const own = [...this.#delays].map(([activity, delays]): [string, number] => [activity, percentile99(delays)])
    return [...own, ...this.#elsewhere].sort(([, a], [, b]) => b - a)
  }
}

interface Delay {
  readonly ms: number
  /** Its frequency. Histograms cannot be merged, but their entries can. */
  readonly times: number
}

function delaysOf({ percentiles, count }: ReturnType<typeof monitorEventLoopDelay>): Delay[] {
  let below = 0
  return [...percentiles].map(([percentile, nanos]) => {
    const times = ((percentile - below) / 100) * count
    below = percentile
    return { ms: nanos / 1e6, times }
  })
}

function percentile99(delays: readonly Delay[]): number {
  let left = 0.01 * delays.reduce((sum, { times }) => sum + times, 0)
  for (const { ms, times } of delays.toSorted((a, b) => b.ms - a.ms)) {
    left -= times
    if (left <= 0) return ms
  }
  return Number.NaN
}
