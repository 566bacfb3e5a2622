export { retentionInterval } from './interval.ts'
export { Pruner } from './pruner.ts'
export { type StreamSettings, streamLimits } from './stream-limits.ts'
