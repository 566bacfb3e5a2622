import { statSync } from 'node:fs'
import type { MemoryAccount } from '../client-memory/account.ts'
import { Events, readerModule } from '../events/index.ts'
import { type KeyPair, nodeAppId, nodeIdOf } from '../identity/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { clampSettings, type Settings, type SettingsDocument } from '../settings/index.ts'
import {
  type EventStoreOptions,
  makeFolders,
  SqliteEventStore,
  type StoreDamage,
  type ThreadWatch,
  topicFile,
  topicsFolder,
} from '../store/index.ts'
import { OwnStreamsGate, type SwarmStore } from '../swarm/index.ts'
import type { BackgroundErrors } from './background-errors.ts'
import type { DiskErrors } from './disk-errors.ts'
import { ReadingMetrics } from './reading-metrics.ts'
import { aheadOfPeers, type LatestSnapshot, peerOffsets } from './swarm-status.ts'

/** Buckets for the number of requests per group commit. */
const powersOfTwo = Array.from({ length: 10 }, (_, exponent) => 2 ** exponent)

interface Parts extends Runtime {
  readonly folder: string
  /** Whether events are exchanged with other nodes, which may have newer events of this node. */
  readonly replicates: boolean
  readonly key: KeyPair
  readonly settings: Settings
  readonly health: Health
  readonly metrics: Metrics
  readonly account: MemoryAccount
  readonly log: Logger
  readonly disk: DiskErrors
  readonly background: BackgroundErrors
  /** Called for damage that was found when the store was opened. */
  readonly onDamage: (damage: StoreDamage) => void
  /** Called when own events were pruned, or redacted with this record. */
  readonly removed: EventStoreOptions['removed']
  /** Called when events cannot be stored any more. */
  readonly failed: (error: Error) => void
  readonly threads: ThreadWatch
  /** What is known about the swarm; without it the node exchanges nothing with others. */
  readonly swarm?: LatestSnapshot | undefined
}

interface OpenedEvents {
  readonly events: Events
  /** What the swarm needs of the store. */
  readonly store: SwarmStore
}

/**
 * Opens the events of the topic in the settings. Changes of routes, retention and caches take effect at once, a change
 * of the topic with the next start.
 */
export async function openEvents(parts: Parts): Promise<OpenedEvents> {
  const { folder, key, settings, health, metrics, account, log, disk, background, onDamage, failed, threads } = parts
  const { clock, timers, random, swarm: swarmSnapshot } = parts
  const { swarm, eventRouting } = settings.document
  const published = metrics.counter('shoal_events_published_total', 'Events published by apps on this node.')
  const commits = metrics.histogram('shoal_commit_requests', 'Publish requests per group commit.', powersOfTwo)
  const readings = new ReadingMetrics(metrics, clock)
  makeFolders(topicsFolder(folder))
  try {
    const file = topicFile(folder, swarm.topic)
    metrics.gauge('block_store_size', 'Bytes of the event store on disk.', () => ({ value: bytesOf(file) }))
    const store = await SqliteEventStore.open({
      file,
      topic: swarm.topic,
      kind: 'live',
      key,
      runtime: { clock, timers, random },
      readerModule,
      clientMemory: account.memory,
      cacheBytes: cacheBytesOf(settings.document),
      committed: (requests) => commits.observe(requests),
      onDamage,
      failed,
      ...(parts.removed && { removed: parts.removed }),
      threads,
      disk: disk.onNotice,
      background: background.onNotice,
    })
    disk.setProbe('events', () => store.probe())
    // The writer runs pending background work after each request, so a probe is enough.
    background.setRetry(['seal', 'index', 'checkpoint', 'count_events'], () => store.probe())
    const gate = parts.replicates ? await OwnStreamsGate.open(store, { clock, timers, log }) : undefined
    if (gate !== undefined) health.check('OwnStreams', () => gate.problem)
    const events = await opened(store, {
      gate,
      node: nodeIdOf(key.publicKey),
      ...eventRouting,
      log,
      clock,
      timers,
      peerOffsets: () => peerOffsets(swarmSnapshot?.()),
      aheadOfPeers: () => aheadOfPeers(swarmSnapshot?.()),
      startReading: (job, request) => {
        const reading = store.start(job, request)
        // The node's own queries are not measured.
        return request.appId === nodeAppId ? reading : readings.measured(job, reading)
      },
      published: (count) => published.add(count),
      clockDoubted: (detail) =>
        detail === undefined ? health.resolve('Retention') : health.report('Retention', detail),
    })
    settings.onChange(({ paths, after }) => {
      if (paths.some((path) => path.startsWith('/eventRouting/routes'))) events.routes = after.eventRouting.routes
      if (paths.includes('/swarm/branchCacheSize')) store.cacheBytes = cacheBytesOf(after)
      if (paths.some((path) => path.startsWith('/eventRouting'))) events.streams = after.eventRouting.streams
    })
    health.set('Events', 'started')
    return { events, store: { link: () => store.link(), gate } }
  } catch (error) {
    health.set('Events', 'failed')
    throw error
  }
}

function cacheBytesOf(document: SettingsDocument): number {
  return clampSettings(document).settings.swarm.branchCacheSize
}

/** Includes the write-ahead log, which is checkpointed from time to time. */
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
