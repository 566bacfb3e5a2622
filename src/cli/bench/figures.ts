/** What a run has measured. */
export interface Figures {
  readonly events: number
  readonly publishOneMs: Latency
  readonly publishConcurrentPerSecond: number
  readonly publishBatchPerSecond: number
  readonly queryAllPerSecond: number
  readonly querySelectiveMs: number
  readonly queryLastMs: number
  readonly liveMs: Latency
}

export interface Latency {
  readonly p50: number
  readonly p99: number
}

export function latencyOf(durationsMs: readonly number[]): Latency {
  const sorted = [...durationsMs].sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}

/** The summary for people. */
export function figuresText(figures: Figures): string {
  const { publishOneMs, publishConcurrentPerSecond, publishBatchPerSecond, liveMs } = figures
  const rows: readonly (readonly [string, string])[] = [
    ['publish one event', latencyText(publishOneMs)],
    ['publish single events, 32 at a time', rateText(publishConcurrentPerSecond)],
    ['publish batches of 100', rateText(publishBatchPerSecond)],
    ['query all of them', rateText(figures.queryAllPerSecond)],
    ['query one in a thousand', millis(figures.querySelectiveMs)],
    ['query the last ten', millis(figures.queryLastMs)],
    ['publish and see it in a subscription', latencyText(liveMs)],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

function latencyText({ p50, p99 }: Latency): string {
  return `${millis(p50)} median, ${millis(p99)} at most for 99 %`
}

function millis(value: number): string {
  return `${value >= 100 ? Math.round(value) : value.toFixed(value >= 10 ? 1 : 2)} ms`
}

function rateText(perSecond: number): string {
  return `${Math.round(perSecond).toLocaleString('en-US')} events/s`
}
