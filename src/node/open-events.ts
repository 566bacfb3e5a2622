import { statSync } from 'node:fs'
import type { MemoryAccount } from '../client-memory/account.ts'
import { Events, readerModule } from '../events/index.ts'
import { type KeyPair, nodeAppId, nodeIdOf } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'
import {
  makeFolders,
  SqliteEventStore,
  type StoreDamage,
  type ThreadWatch,
  topicFile,
  topicsFolder,
} from '../store/index.ts'
import type { BackgroundErrors } from './background-errors.ts'
import type { DiskErrors } from './disk-errors.ts'
import { ReadingMetrics } from './reading-metrics.ts'

/** From a commit of its own to the most that come together. */
const powersOfTwo = Array.from({ length: 10 }, (_, exponent) => 2 ** exponent)

interface Parts extends Runtime {
  readonly folder: string
  readonly key: KeyPair
  readonly settings: Settings
  readonly health: Health
  readonly metrics: Metrics
  readonly account: MemoryAccount
  readonly log: Logger
  readonly disk: DiskErrors
  readonly background: BackgroundErrors
  /** Called for damage of the store that was found when it was opened. */
  readonly onDamage: (damage: StoreDamage) => void
  /** Is told when events cannot be stored any more. */
  readonly failed: (error: Error) => void
  readonly threads: ThreadWatch
}

/**
 * Opens the events of the topic in the settings. Routes and limits of streams change while the node runs; the topic does
 * with the next start.
 */
export async function openEvents(parts: Parts): Promise<Events> {
  const { folder, key, settings, health, metrics, account, log, disk, background, onDamage, failed, threads } = parts
  const { clock, timers } = parts
  const { swarm, eventRouting } = settings.document
  const published = metrics.counter('shoal_events_published_total', 'Events that apps have published here.')
  const commits = metrics.histogram('shoal_commit_requests', 'Requests that were stored together.', powersOfTwo)
  const readings = new ReadingMetrics(metrics, clock)
  makeFolders(topicsFolder(folder))
  try {
    const file = topicFile(folder, swarm.topic)
    metrics.gauge('block_store_size', 'Bytes of the events of the topic on disk.', () => ({ value: bytesOf(file) }))
    const store = await SqliteEventStore.open({
      file,
      topic: swarm.topic,
      kind: 'live',
      key,
      readerModule,
      clientMemory: account.memory,
      committed: (requests) => commits.observe(requests),
      onDamage,
      failed,
      threads,
      disk: disk.take,
      background: background.take,
    })
    disk.setProbe('events', () => store.probe())
    // The writer does what is left to do in the background after each request.
    background.setRetry(['seal', 'index', 'checkpoint', 'count_events'], () => store.probe())
    const events = await opened(store, {
      node: nodeIdOf(key.publicKey),
      ...eventRouting,
      log,
      clock,
      timers,
      startReading: (job, request) => {
        const reading = store.start(job, request)
        // What the node asks itself is nobody's business.
        return request.appId === nodeAppId ? reading : readings.measured(job, reading)
      },
      published: (count) => published.add(count),
    })
    settings.onChange(({ paths, after }) => {
      if (paths.some((path) => path.startsWith('/eventRouting/routes'))) events.routes = after.eventRouting.routes
      if (paths.some((path) => path.startsWith('/eventRouting'))) events.streams = after.eventRouting.streams
    })
    health.set('Events', 'started')
    return events
  } catch (error) {
    health.set('Events', 'failed')
    throw error
  }
}

/** With the write-ahead log, which is folded back from time to time. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0)
}

async function opened(store: SqliteEventStore, options: Parameters<typeof Events.open>[1]): Promise<Events> {
  try {
    return await Events.open(store, options)
  } catch (error) {
    await store.close()
    throw error
  }
}
