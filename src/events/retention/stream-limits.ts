import { type Retention, type RetentionSettings, retentionOf } from '../../settings/index.ts'

export type StreamSettings = Readonly<Record<string, RetentionSettings>>

/** Default limits for the streams that the node itself writes; settings replace them. */
const builtIn: Readonly<Record<string, Retention>> = {
  discovery: { maxEvents: 1000 },
  metrics: { maxEvents: 1000 },
}

/** Limits by stream name, for the streams that have any. */
export function streamLimits(settings: StreamSettings): Map<string, Retention> {
  const set = Object.entries(settings).map(([name, limits]) => [name, retentionOf(limits)] as const)
  const all = new Map([...Object.entries(builtIn), ...set])
  return new Map([...all].filter(([, limits]) => Object.keys(limits).length > 0))
}
