import type { MemoryAccount } from '../client-memory/account.ts'
import type { KeyPair } from '../identity/index.ts'
import type { Logger, LogOutput } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'
import type { EventStoreOptions, StoreDamage } from '../store/index.ts'
import type { BackgroundErrors } from './background-errors.ts'
import type { BlockMetrics } from './block-metrics.ts'
import type { DiskErrors } from './disk-errors.ts'
import type { EventMetrics } from './event-metrics.ts'
import type { LatestSnapshot } from './swarm-status.ts'
import type { ThreadFailures } from './thread-failures.ts'

/** What the parts of a topic need of the node; it outlives them. */
export interface TopicParts extends Runtime {
  /** The data folder. */
  readonly folder: string
  /** Whether events are exchanged with other nodes, which may have newer events of this node. */
  readonly replicates: boolean
  readonly key: KeyPair
  readonly settings: Settings
  readonly health: Health
  readonly metrics: Metrics
  readonly eventMetrics: EventMetrics
  readonly blockMetrics: BlockMetrics
  readonly account: MemoryAccount
  readonly output: LogOutput
  /** The log of the node. */
  readonly log: Logger
  readonly disk: DiskErrors
  readonly background: BackgroundErrors
  readonly threads: ThreadFailures
  /** Interval of pruning in milliseconds; by default it follows from the limits in the settings. */
  readonly retentionMs?: number | undefined
  /** Called for damage that was found when a database was opened. */
  readonly onDamage: (damage: StoreDamage) => void
  /** Called when events cannot be stored any more. */
  readonly failed: (error: Error) => void
  /** Called when own events were pruned, or redacted with this record. */
  readonly removed?: EventStoreOptions['removed']
  /** What is known about the swarm; without it the node exchanges nothing with others. */
  readonly swarm?: LatestSnapshot | undefined
}
