import { adminLimits } from './limits/admin.ts'
import { apiLimits } from './limits/api.ts'
import { eventLimits } from './limits/events.ts'
import { fileLimits } from './limits/files.ts'
import { memoryLimits } from './limits/memory.ts'
import { processLimits } from './limits/process.ts'
import { queryLimits } from './limits/queries.ts'
import { replicationLimits } from './limits/replication.ts'
import { swarmLimits } from './limits/swarm.ts'

/**
 * Limits, charges, intervals and timeouts. Exceeding a limit is an error that names it, never a crash and never unbounded
 * growth. Constants of formats are in `format.ts`, tuning parameters in `tuning.ts`. Sizes are in bytes.
 */
export const limits = {
  ...processLimits,
  ...apiLimits,
  ...adminLimits,
  ...memoryLimits,
  ...queryLimits,
  ...eventLimits,
  ...replicationLimits,
  ...swarmLimits,
  ...fileLimits,
} as const
