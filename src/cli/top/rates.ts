import type { Snapshot } from './snapshot.ts'

/** Rates per second between two snapshots; undefined if the node was restarted in between. */
export interface Rates {
  readonly published: number | undefined
  readonly received: number | undefined
  readonly queries: number | undefined
  /** In percent of one processor. */
  readonly cpuPercent: number | undefined
}

export function ratesBetween(earlier: Snapshot, later: Snapshot): Rates {
  const seconds = (later.atMs - earlier.atMs) / 1000
  const rate = (name: keyof Snapshot['counters']): number | undefined => {
    const grown = later.counters[name] - earlier.counters[name]
    return seconds > 0 && grown >= 0 ? grown / seconds : undefined
  }
  const cpu = rate('cpuSeconds')
  return {
    published: rate('published'),
    received: rate('received'),
    queries: rate('queries'),
    cpuPercent: cpu === undefined ? undefined : 100 * cpu,
  }
}
