import { Events, readerModule } from '../events/index.ts'
import { nodeAppId, nodeIdOf } from '../identity/index.ts'
import { clampSettings, type SettingsChange, type SettingsDocument } from '../settings/index.ts'
import { makeFolders, SqliteEventStore, topicFile, topicsFolder } from '../store/index.ts'
import { OwnStreamsGate } from '../swarm/index.ts'
import { aheadOfPeers, peerOffsets } from './swarm-status.ts'
import type { TopicParts } from './topic-parts.ts'

interface OpenedEvents {
  readonly events: Events
  readonly store: SqliteEventStore
  /** Makes publishing wait after a doubtful start. */
  readonly gate: OwnStreamsGate | undefined
  /** Applies changed routes, retention and cache sizes. */
  apply(change: Pick<SettingsChange, 'paths' | 'after'>): void
}

/** Opens the events of a topic. */
export async function openEvents(topic: string, parts: TopicParts): Promise<OpenedEvents> {
  const { folder, key, settings, eventMetrics, account, disk, background, onDamage, failed, threads } = parts
  const { clock, timers, random, removed } = parts
  makeFolders(topicsFolder(folder))
  const file = topicFile(folder, topic)
  const store = await SqliteEventStore.open({
    file,
    topic,
    kind: 'live',
    key,
    runtime: { clock, timers, random },
    readerModule,
    clientMemory: account.memory,
    cacheBytes: cacheBytesOf(settings.document),
    committed: (requests) => eventMetrics.commits.observe(requests),
    onDamage,
    failed,
    ...(removed && { removed }),
    threads,
    disk: disk.onNotice,
    background: background.onNotice,
  })
  try {
    disk.setProbe('events', () => store.probe())
    // The writer runs pending background work after each request, so a probe is enough.
    background.setRetry(['seal', 'index', 'checkpoint', 'count_events'], () => store.probe())
    const log = parts.log.module('events')
    const gate = parts.replicates ? await OwnStreamsGate.open(store, { clock, timers, log }) : undefined
    const events = await eventsOf(store, gate, parts)
    eventMetrics.file = file
    const apply = ({ paths, after }: Pick<SettingsChange, 'paths' | 'after'>): void => {
      if (paths.some((path) => path.startsWith('/eventRouting/routes'))) events.routes = after.eventRouting.routes
      if (paths.includes('/swarm/branchCacheSize')) store.cacheBytes = cacheBytesOf(after)
      if (paths.some((path) => path.startsWith('/eventRouting'))) events.streams = after.eventRouting.streams
    }
    return { events, store, gate, apply }
  } catch (error) {
    await store.close()
    throw error
  }
}

function eventsOf(store: SqliteEventStore, gate: OwnStreamsGate | undefined, parts: TopicParts): Promise<Events> {
  const { key, settings, health, eventMetrics, log, clock, timers, swarm } = parts
  return Events.open(store, {
    gate,
    node: nodeIdOf(key.publicKey),
    ...settings.document.eventRouting,
    log: log.module('events'),
    clock,
    timers,
    peerOffsets: () => peerOffsets(swarm?.()),
    aheadOfPeers: () => aheadOfPeers(swarm?.()),
    startReading: (job, request) => {
      const reading = store.start(job, request)
      // The node's own queries are not measured.
      return request.appId === nodeAppId ? reading : eventMetrics.readings.measured(job, reading)
    },
    published: (count, ms) => {
      eventMetrics.published.add(count)
      eventMetrics.publishing.observe(ms / 1000)
    },
    clockDoubted: (detail) => (detail === undefined ? health.resolve('Retention') : health.report('Retention', detail)),
  })
}

function cacheBytesOf(document: SettingsDocument): number {
  return clampSettings(document).settings.swarm.branchCacheSize
}
