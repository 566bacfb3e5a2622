import { Connections } from '../api/index.ts'
import { clockProblem } from '../base/clock-error.ts'
import { MemoryAccount } from '../client-memory/account.ts'
import { defaultMemoryLimit } from '../client-memory/memory-limit.ts'
import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import { type KeyPair, type NodeId, nodeIdOf, peerIdOf } from '../identity/index.ts'
import { LogFilter, Logger, type LogOutput } from '../logging/index.ts'
import { Health } from '../observability/health.ts'
import { addProcessMetrics, Metrics } from '../observability/metrics.ts'
import { type Clock, processStartSeconds } from '../runtime/clock.ts'
import { type Runtime, systemRuntime } from '../runtime/system-runtime.ts'
import { versionString } from '../runtime/version.ts'
import { clampSettings, publicSwarmKey, Settings, type SettingsDocument } from '../settings/index.ts'
import { blobFile, DataFolder, NodeDatabase, type StoreDamage, ThreadedBlobs, topicFiles } from '../store/index.ts'
import type { SwarmSnapshot } from '../swarm/index.ts'
import { type ApiOptions, apiService } from './api-service.ts'
import { BackgroundErrors } from './background-errors.ts'
import { availableConnections, connectionLimits } from './connection-limits.ts'
import { DiskErrors } from './disk-errors.ts'
import { type Addresses, checkAddresses, type Endpoints, Listeners } from './listeners.ts'
import { Maintenance } from './maintenance.ts'
import { openEvents } from './open-events.ts'
import { openFiles } from './open-files.ts'
import { NodeSwarm } from './open-swarm.ts'
import { ThreadFailures } from './thread-failures.ts'

export interface NodeOptions {
  /** The data folder; created if it does not exist. */
  readonly folder: string
  readonly endpoints: Endpoints
  readonly api?: ApiOptions
  readonly output: LogOutput
  /** A log filter that overrides the one in the settings. */
  readonly logFilter?: string
  /** Memory limit for all clients together, in bytes; by default derived from the memory of the process. */
  readonly memoryLimit?: number
  /** Interval of pruning in milliseconds; by default it follows from the limits in the settings. */
  readonly retentionMs?: number
  /** Whether events are exchanged with other nodes. */
  readonly replicates?: boolean
  /** Called on a fatal failure: the node should be stopped then. */
  readonly failed?: (error: Error) => void
}

/** Why a node stops, as the target of its last log line. */
export type StopReason = 'NODE_STOPPED_BY_HOST' | 'NODE_STOPPED_BY_NODE'

/** A running node: the composition root that creates and connects all components. */
export class Node {
  readonly id: NodeId
  readonly key: KeyPair
  /** The start counter: the number of earlier starts with this data folder. */
  readonly startCounter: number
  readonly settings: Settings
  readonly folder: string
  readonly #resources: Resources
  #stopping: Promise<void> | undefined

  private constructor({ key, startCounter }: Identity, settings: Settings, resources: Resources) {
    this.key = key
    this.startCounter = startCounter
    this.id = nodeIdOf(key.publicKey)
    this.settings = settings
    this.folder = resources.folder.path
    this.#resources = resources
  }

  /** Starts a node. If it fails, everything is cleaned up except data that a client may have seen. */
  static async start(options: NodeOptions): Promise<Node> {
    const runtime = systemRuntime
    const { clock } = runtime
    const log = new Logger(options.output, 'node')
    const available = availableConnections(log)
    if (!DataFolder.exists(options.folder)) await checkAddresses(options.endpoints)
    const folder = DataFolder.open(options.folder, { create: true })
    const health = new Health(['API', 'Admin', 'Swarm', 'Events'])
    const listeners = new Listeners(health, log, runtime, options.replicates)
    let database: NodeDatabase | undefined
    let events: Promise<Events> | undefined
    let maintenance: Maintenance | undefined
    let files: Promise<Files> | undefined
    let blobs: ThreadedBlobs | undefined
    let mayHaveServed = false
    let disk: DiskErrors | undefined
    let background: BackgroundErrors | undefined
    let threads: ThreadFailures | undefined
    let swarm: NodeSwarm | undefined
    try {
      database = NodeDatabase.open(folder.nodeDatabase)
      const settings = await openSettings(database, clock, log)
      applySettings(settings, options, log)
      const identity = database.beginStart(runtime.random, topicFiles(folder.path))
      // Events take longest to open, so the ports are opened concurrently.
      const metrics = metricsOf(identity, settings, options.output)
      health.check('Clock', () => clockProblem(clock.now()))
      disk = new DiskErrors({ ...runtime, health, metrics, log: log.module('disk') })
      background = new BackgroundErrors({ ...runtime, health, metrics, log: log.module('background') })
      threads = new ThreadFailures({ ...runtime, health, metrics, log })
      const shared = { ...runtime, ...identity, settings, health, metrics, disk, background, threads }
      const failed = (error: Error): void => {
        health.set('Events', 'failed', error.message)
        options.failed?.(error)
      }
      const account = MemoryAccount.create(options.memoryLimit ?? defaultMemoryLimit())
      const onDamage = damageReporter(health, metrics, log.module('store'))
      const { replicates = false, output } = options
      const swarmParts = { ...shared, output, background: background.onNotice, log: log.module('swarm') }
      const nodeSwarm = replicates ? new NodeSwarm(swarmParts) : undefined
      swarm = nodeSwarm
      const swarmSnapshot = nodeSwarm && ((): SwarmSnapshot | undefined => nodeSwarm.snapshot)
      const callbacks = { onDamage, failed, removed: nodeSwarm?.removed, swarm: swarmSnapshot }
      const opening = { account, folder: folder.path, replicates, log: log.module('events'), ...callbacks }
      const openedEvents = openEvents({ ...shared, ...opening })
      events = openedEvents.then(({ events }) => events)
      // Not unhandled: it is awaited below, after the ports are open.
      events.catch(() => {})
      const openedFiles = openFiles({ ...shared, events, folder: folder.path, log: log.module('files'), onDamage })
      files = openedFiles
      // Not unhandled: opening files only fails when opening events fails, and each request for files awaits it.
      files.catch(() => {})
      threads.setRestart('files', async () => (await files)?.probe())
      const blobStore = new ThreadedBlobs(blobFile(folder.path, settings.document.swarm.topic), {
        threads,
        onDamage,
        notify: disk.onNotice,
        background: background.onNotice,
      })
      blobs = blobStore
      disk.setProbe('blobs', () => blobStore.probe())
      threads.setRestart('blobs', () => blobStore.probe())
      background.setRetry(['count_blobs', 'blob_read_time'], () => blobStore.probe())
      const tasks = new Maintenance({ ...shared, events, background: background.onNotice }, options.retentionMs)
      maintenance = tasks
      background.setRetry(['prune'], () => tasks.prune())
      background.setRetry(['metrics_event'], () => tasks.publishMetrics())
      const connections = connectionsOf(account, metrics, log.module('api'), runtime)
      const parts = { ...shared, events, files, blobs, connections, swarm: swarmSnapshot, log: log.module('api') }
      const api = apiService(options.api ?? {}, parts)
      const reports = [disk, background, threads]
      const resources = { folder, database, events, files, maintenance, blobs, reports, health, listeners, swarm, log }
      const node = new Node(identity, settings, resources)
      log.debug('starting', { nodeId: node.id, cycle: node.startCounter, version: versionString })
      mayHaveServed = true
      const perPort = connectionLimits(available, metrics, log, clock)
      await listeners.open(options.endpoints, api, connections, perPort)
      const { store } = await openedEvents
      const linkBlocks = async () => (await openedFiles).blocks.link()
      void nodeSwarm?.start(events, { ...store, linkBlocks }, () => listeners.releaseSwarm())
      log.as('NODE_STARTED_BY_HOST').info(`shoal ${versionString} is running.`)
      return node
    } catch (error) {
      maintenance?.stop()
      await swarm?.stop()
      for (const report of [disk, background, threads]) report?.stop()
      await listeners.close()
      // Errors of the cleanup follow from the error that is thrown.
      await files?.then((opened) => opened.close()).catch(() => {})
      await events?.then((opened) => opened.close()).catch(() => {})
      await blobs?.close().catch(() => {})
      database?.close()
      if (mayHaveServed) folder.close()
      else folder.discard()
      throw error
    }
  }

  get addresses(): Addresses {
    return this.#resources.listeners.addresses
  }

  /** The ID by which other nodes connect to it, in `/swarm/initialPeers`. */
  get peerId(): string {
    return peerIdOf(this.key.publicKey)
  }

  get usesPublicSwarmKey(): boolean {
    return usesPublicKey(this.settings.document)
  }

  /** Stops everything in order; the second call waits for the first. */
  stop(reason: StopReason): Promise<void> {
    this.#stopping ??= this.#stop(reason)
    return this.#stopping
  }

  async #stop(reason: StopReason): Promise<void> {
    const { listeners, events, files, maintenance, blobs, reports, health, swarm, database, folder, log } =
      this.#resources
    maintenance.stop()
    for (const report of reports) report.stop()
    const opened = await events
    opened.stopReading()
    await listeners.close()
    health.set('Events', 'stopping')
    // Before the store, which it is linked to.
    await swarm?.stop()
    await (await files).close()
    await opened.close()
    await blobs.close()
    database.close()
    folder.close()
    if (reason === 'NODE_STOPPED_BY_HOST') log.as(reason).info('shoal was stopped.')
    else log.as(reason).error('shoal stopped because of a failure in one of its parts.')
  }
}

type Identity = ReturnType<NodeDatabase['beginStart']>

interface Resources {
  readonly folder: DataFolder
  readonly database: NodeDatabase
  readonly events: Promise<Events>
  readonly maintenance: Maintenance
  readonly files: Promise<Files>
  readonly blobs: ThreadedBlobs
  /** Failure reports with retry timers. */
  readonly reports: readonly { stop(): void }[]
  readonly health: Health
  readonly listeners: Listeners
  readonly swarm: NodeSwarm | undefined
  readonly log: Logger
}

/** The metrics of the node; node ID and display name are constant labels. */
function metricsOf({ key }: Identity, settings: Settings, { written }: LogOutput): Metrics {
  const nodeId = nodeIdOf(key.publicKey)
  const metrics = new Metrics(() => ({ node_id: nodeId, display_name: settings.document.admin.displayName }))
  const info = { labels: { version: versionString }, value: 1 }
  metrics.gauge('shoal_node_info', 'Version of the node, as a label.', () => info)
  metrics.counted('shoal_log_lines_total', 'Log lines, by level.', () =>
    (['ERROR', 'WARN'] as const).map((level) => ({ labels: { level }, value: written.get(level) ?? 0 })),
  )
  addProcessMetrics(metrics, processStartSeconds())
  return metrics
}

/** The connections of all clients, with metrics of their memory. */
function connectionsOf(account: MemoryAccount, metrics: Metrics, log: Logger, runtime: Runtime): Connections {
  const closed = metrics.counter(
    'shoal_connections_closed_total',
    'Connections that were closed because of their memory use, by reason.',
    'reason',
  )
  metrics.gauge('shoal_client_memory_bytes', 'Memory charged to clients.', () => ({
    value: account.usedBytes,
  }))
  metrics.gauge('shoal_client_memory_limit_bytes', 'Limit of the memory charged to clients.', () => ({
    value: account.limitBytes,
  }))
  return new Connections({ ...runtime, account, log, evicted: (reason) => closed.add(1, reason) })
}

function openSettings(database: NodeDatabase, clock: Clock, log: Logger): Promise<Settings> {
  const settingsLog = log.module('settings')
  return Settings.open(database.settings, clock, (revision, reason) => {
    settingsLog.error(`revision ${revision} of the settings is not valid, the one before it is used: ${reason.message}`)
  })
}

/** Reports damage that was found when a store was opened. Damage that a power failure can explain is only a warning. */
function damageReporter(health: Health, metrics: Metrics, log: Logger): (damage: StoreDamage) => void {
  const found = metrics.counter('shoal_store_damage_total', 'Damage of stored data that was found at startup.')
  return ({ text, isCertain }) => {
    found.add()
    if (!isCertain) log.warn(text)
    else {
      log.error(text)
      // Lost data does not come back by itself: the problem is reported until the next restart.
      health.report('Store', text)
    }
  }
}

/** Applies the settings, now and after each change. */
function applySettings(settings: Settings, { output, logFilter }: NodeOptions, log: Logger): void {
  const settingsLog = log.module('settings')
  const apply = (document: SettingsDocument): void => {
    output.filter = new LogFilter(logFilter ?? document.admin.logLevels.node)
    for (const warning of output.filter.warnings) settingsLog.warn(warning)
    for (const { path, value, used } of clampSettings(document).clamped)
      settingsLog.warn(`${path} is ${value}, which cannot work; ${used} is used`)
    if (document.api.events.readOnly)
      log.module('swarm').info('This node is read-only: what is published here stays here. See /api/events/readOnly.')
    if (usesPublicKey(document))
      log
        .module('swarm')
        .warn('The swarm key is the public default: anyone on this network can join. Set /swarm/swarmKey.')
  }
  apply(settings.document)
  if (logFilter !== undefined)
    settingsLog.info('The log filter of the environment is in force; /admin/logLevels/node is ignored.')
  settings.onChange(({ scope, paths, after }) => {
    settingsLog.as('NODE_SETTINGS_CHANGED').info(`Node settings at scope ${scope} were changed.`, { paths })
    apply(after)
  })
}

function usesPublicKey({ swarm }: SettingsDocument): boolean {
  return swarm.swarmKey === publicSwarmKey
}
