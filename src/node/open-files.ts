import type { Events } from '../events/index.ts'
import { Files } from '../files/index.ts'
import { type KeyPair, nodeIdOf } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { clampSettings, type Settings } from '../settings/index.ts'
import { blockFile, type CacheLimits, type StoreDamage, type ThreadWatch } from '../store/index.ts'
import type { BackgroundErrors } from './background-errors.ts'
import { BlockMetrics } from './block-metrics.ts'
import type { DiskErrors } from './disk-errors.ts'

interface Parts extends Runtime {
  readonly folder: string
  readonly key: KeyPair
  readonly settings: Settings
  readonly events: Promise<Events>
  readonly log: Logger
  readonly metrics: Metrics
  readonly disk: DiskErrors
  readonly background: BackgroundErrors
  readonly threads: ThreadWatch
  /** Called for damage that was found when the store was opened. */
  readonly onDamage: (damage: StoreDamage) => void
}

/** Opens the files of the topic in the settings, and starts the garbage collection of unpinned blocks. */
export async function openFiles(parts: Parts): Promise<Files> {
  const { folder, key, settings, events, log, disk, background, threads, onDamage, clock, timers, metrics } = parts
  const measured = new BlockMetrics(metrics, clock)
  const file = blockFile(folder, settings.document.swarm.topic)
  const node = nodeIdOf(key.publicKey)
  const notified = {
    threads,
    onDamage,
    disk: disk.onNotice,
    background: background.onNotice,
    measure: measured.measure,
  }
  const blockTimeoutMs = (): number => clampSettings(settings.document).settings.swarm.bitswapTimeout * 1000
  const files = new Files({ file, node, events: await events, log, clock, timers, blockTimeoutMs, ...notified })
  measured.files = files
  disk.setProbe('files', () => files.probe())
  const cache = (): CacheLimits => {
    const { blockCacheCount, blockCacheSize } = settings.document.swarm
    return { count: blockCacheCount, bytes: blockCacheSize }
  }
  const collect = (): void => files.collectEvery(clampSettings(settings.document).settings.swarm.blockGcInterval, cache)
  collect()
  background.setRetry(['evict'], () => files.collectAndReport(cache()))
  background.setRetry(['keep_files'], () => files.runQueries())
  background.setRetry(['count_files'], () => files.probe())
  background.setRetry(['fetch_files'], () => files.blocks.checkRoom())
  settings.onChange(({ paths }) => {
    if (paths.includes('/swarm/blockGcInterval')) collect()
  })
  return files
}
