export { retentionInterval } from './interval.ts'
export { Pruner } from './pruner.ts'
export type { StreamSettings } from './stream-limits.ts'
