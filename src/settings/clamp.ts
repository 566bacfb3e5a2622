import type { SettingsDocument } from './schema.ts'

/** A setting that the specification allows but nobody can work with, and what is used instead. */
export interface Clamped {
  readonly path: string
  readonly value: number
  readonly used: number
}

type SwarmNumber = {
  [K in keyof SettingsDocument['swarm']]: SettingsDocument['swarm'][K] extends number ? K : never
}[keyof SettingsDocument['swarm']]

/** The least that makes sense, where the specification allows less. */
const least: Partial<Record<SwarmNumber, number>> = {
  pingTimeout: 1,
  bitswapTimeout: 1,
  gossipInterval: 1,
  branchCacheSize: 1024 * 1024,
  detectionCyclesLowLatency: 1,
  detectionCyclesHighLatency: 1,
}

/** Timers of the platform count milliseconds in 31 bits; nobody waits longer than 24 days for a tick. */
const mostSeconds = 2_000_000
const intervals: readonly SwarmNumber[] = [
  'blockGcInterval',
  'metricsInterval',
  'pingTimeout',
  'bitswapTimeout',
  'gossipInterval',
]

/** The settings as they are used, and what had to be changed for that. What is stored stays as it is. */
export function usable(document: SettingsDocument): { settings: SettingsDocument; clamped: Clamped[] } {
  const settings = structuredClone(document)
  const clamped: Clamped[] = []
  const use = (name: SwarmNumber, used: number): void => {
    const value = settings.swarm[name]
    if (value === used) return
    clamped.push({ path: `/swarm/${name}`, value, used })
    settings.swarm[name] = used
  }
  for (const [name, bound] of Object.entries(least) as [SwarmNumber, number][])
    use(name, Math.max(bound, settings.swarm[name]))
  for (const name of intervals) use(name, Math.min(mostSeconds, settings.swarm[name]))
  return { settings, clamped }
}
