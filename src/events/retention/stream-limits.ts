import { type Retention, type RetentionSettings, retentionOf } from '../../settings/index.ts'

export type StreamSettings = Readonly<Record<string, RetentionSettings>>

/** What the node says about itself is of interest for a while; settings for such a stream come in the place of this. */
const builtIn: Readonly<Record<string, Retention>> = {
  discovery: { maxEvents: 1000 },
  metrics: { maxEvents: 1000 },
}

/** The limits of streams by their names, of those that have any. */
export function streamLimits(settings: StreamSettings): Map<string, Retention> {
  const set = Object.entries(settings).map(([name, limits]) => [name, retentionOf(limits)] as const)
  const all = new Map([...Object.entries(builtIn), ...set])
  return new Map([...all].filter(([, limits]) => Object.keys(limits).length > 0))
}
