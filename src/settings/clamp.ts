import type { SettingsDocument } from './schema.ts'

/** A setting that is valid by the specification but unusable, and the clamped value that is used instead. */
export interface Clamped {
  readonly path: string
  readonly value: number
  readonly used: number
}

type SwarmNumber = {
  [K in keyof SettingsDocument['swarm']]: SettingsDocument['swarm'][K] extends number ? K : never
}[keyof SettingsDocument['swarm']]

/** Minimum usable values, where the specification allows less. */
const minimums: Partial<Record<SwarmNumber, number>> = {
  pingTimeout: 1,
  bitswapTimeout: 1,
  gossipInterval: 1,
  branchCacheSize: 1024 * 1024,
  detectionCyclesLowLatency: 1,
  detectionCyclesHighLatency: 1,
}

/** Maximum interval: Node's timers count milliseconds in 31 bits, which is 24 days. */
const maxSeconds = 2_000_000
const intervals: readonly SwarmNumber[] = [
  'blockGcInterval',
  'metricsInterval',
  'pingTimeout',
  'bitswapTimeout',
  'gossipInterval',
]

/** Clamps settings to usable values, and lists what was clamped. The stored document does not change. */
export function clampSettings(document: SettingsDocument): { settings: SettingsDocument; clamped: Clamped[] } {
  const settings = structuredClone(document)
  const clamped: Clamped[] = []
  const use = (name: SwarmNumber, used: number): void => {
    const value = settings.swarm[name]
    if (value === used) return
    clamped.push({ path: `/swarm/${name}`, value, used })
    settings.swarm[name] = used
  }
  for (const [name, bound] of Object.entries(minimums) as [SwarmNumber, number][])
    use(name, Math.max(bound, settings.swarm[name]))
  for (const name of intervals) use(name, Math.min(maxSeconds, settings.swarm[name]))
  return { settings, clamped }
}
