import { type ControlSocket, StoreJobs } from '../admin/index.ts'
import { Connections } from '../api/index.ts'
import { clockProblem } from '../base/clock-error.ts'
import { MemoryAccount } from '../client-memory/account.ts'
import { defaultMemoryLimit } from '../client-memory/memory-limit.ts'
import { type KeyPair, type NodeId, nodeIdOf, peerIdOf } from '../identity/index.ts'
import { LogFilter, Logger, type LogOutput } from '../logging/index.ts'
import { Health } from '../observability/health.ts'
import { addProcessMetrics, Metrics } from '../observability/metrics.ts'
import { type Clock, processStartSeconds } from '../runtime/clock.ts'
import { type Runtime, systemRuntime } from '../runtime/system-runtime.ts'
import { versionString } from '../runtime/version.ts'
import { clampSettings, publicSwarmKey, Settings, type SettingsDocument } from '../settings/index.ts'
import { DataFolder, diskSpace, NodeDatabase, type StoreDamage, topicFiles } from '../store/index.ts'
import { ActiveTopic } from './active-topic.ts'
import { type ApiOptions, apiService } from './api-service.ts'
import { BackgroundErrors } from './background-errors.ts'
import { BlockMetrics } from './block-metrics.ts'
import { availableConnections, connectionLimits } from './connection-limits.ts'
import { DiskErrors } from './disk-errors.ts'
import { EventMetrics } from './event-metrics.ts'
import { inspected } from './inspect.ts'
import { type Addresses, checkAddresses, type Endpoints, Listeners } from './listeners.ts'
import { adminPort, openControl } from './open-control.ts'
import { reportStart } from './report-start.ts'
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
  /** Called when a client of the control socket asks the node to stop: it should be stopped then. */
  readonly shutdown?: () => void
}

/** Why a node stops, as the target of its last log line. */
export type StopReason = 'NODE_STOPPED_BY_HOST' | 'NODE_STOPPED_BY_NODEUI' | 'NODE_STOPPED_BY_NODE'

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
    let topic: ActiveTopic | undefined
    let control: ControlSocket | undefined
    let reports: Reports | undefined
    let mayHaveServed = false
    try {
      database = NodeDatabase.open(folder.nodeDatabase)
      const settings = await openSettings(database, clock, log)
      applySettings(settings, options, log)
      const identity = database.beginStart(runtime.random, topicFiles(folder.path))
      const metrics = metricsOf(identity, settings, options.output, folder.path)
      health.check('Clock', () => clockProblem(clock.now()))
      reports = reportsOf({ ...runtime, health, metrics, log })
      const account = MemoryAccount.create(options.memoryLimit ?? defaultMemoryLimit())
      const { replicates = false, output, retentionMs } = options
      const shared = { ...runtime, ...identity, settings, health, metrics, account, folder: folder.path }
      // It takes longest to open, so the ports are opened concurrently.
      const active = new ActiveTopic({
        ...shared,
        ...reports,
        eventMetrics: new EventMetrics(metrics, clock),
        blockMetrics: new BlockMetrics(metrics, clock),
        replicates,
        output,
        retentionMs,
        log,
        onDamage: damageReporter(health, metrics, log.module('store')),
        failed: (error) => {
          health.set('Events', 'failed', error.message)
          options.failed?.(error)
        },
        releaseSwarm: () => listeners.releaseSwarm(),
        leaving: () => api.restartSockets(),
      })
      topic = active
      const { events, files, blobs } = active
      const connections = connectionsOf(account, metrics, log.module('api'), runtime)
      const served = { ...shared, events, files, blobs, connections }
      const swarm = replicates ? () => active.snapshot : undefined
      const api = apiService(options.api ?? {}, { ...served, swarm, log: log.module('api') })
      const openTopic = (): string | undefined => active.name
      const nodeId = nodeIdOf(identity.key.publicKey)
      const operated = {
        ...served,
        storeJobs: new StoreJobs({ ...served, nodeId, nodeDatabase: database, openTopic }),
        startedUnix: processStartSeconds(),
        recentLines: output.recent,
        openTopic,
        inspect: () => inspected(identity.key, listeners.addresses, active.snapshot),
        restartStore: () => active.restart(),
        shutdown: () => options.shutdown?.(),
      }
      control = await openControl({ ...operated, log: log.module('control') })
      const node = new Node(identity, settings, { folder, database, topic, control, reports, health, listeners, log })
      log.debug('starting', { nodeId: node.id, cycle: node.startCounter, version: versionString })
      mayHaveServed = true
      const perPort = connectionLimits(available, metrics, log, clock)
      const maxConnections = perPort.admin.max
      const admin = adminPort({ ...operated, maxConnections, log: log.module('admin') }, options.api?.hosts)
      await listeners.open(options.endpoints, { api, ...admin }, perPort)
      await active.start()
      reportStart(node, log)
      log.as('NODE_STARTED_BY_HOST').info(`shoal ${versionString} is running.`)
      return node
    } catch (error) {
      for (const report of Object.values(reports ?? {})) report.stop()
      await Promise.all([listeners.close(), control?.close()])
      // Errors of the cleanup follow from the error that is thrown.
      await topic?.close().catch(() => {})
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
    const { listeners, control, topic, reports, health, database, folder, log } = this.#resources
    for (const report of Object.values(reports)) report.stop()
    await topic.stopReading()
    await Promise.all([listeners.close(), control?.close()])
    health.set('Events', 'stopping')
    await topic.close()
    database.close()
    folder.close()
    if (reason !== 'NODE_STOPPED_BY_NODE') log.as(reason).info('shoal was stopped.')
    else log.as(reason).error('shoal stopped because of a failure in one of its parts.')
  }
}

type Identity = ReturnType<NodeDatabase['beginStart']>
type Reports = ReturnType<typeof reportsOf>

interface Resources {
  readonly folder: DataFolder
  readonly database: NodeDatabase
  readonly topic: ActiveTopic
  readonly control: ControlSocket | undefined
  readonly reports: Reports
  readonly health: Health
  readonly listeners: Listeners
  readonly log: Logger
}

/** The reports of failures, which have retry timers. */
function reportsOf({ log, ...parts }: Runtime & { health: Health; metrics: Metrics; log: Logger }) {
  return {
    disk: new DiskErrors({ ...parts, log: log.module('disk') }),
    background: new BackgroundErrors({ ...parts, log: log.module('background') }),
    threads: new ThreadFailures({ ...parts, log }),
  }
}

/** The metrics of the node; node ID and display name are constant labels. */
function metricsOf({ key }: Identity, settings: Settings, { written }: LogOutput, folder: string): Metrics {
  const nodeId = nodeIdOf(key.publicKey)
  const metrics = new Metrics(() => ({ node_id: nodeId, display_name: settings.document.admin.displayName }))
  const info = { labels: { version: versionString }, value: 1 }
  metrics.gauge('shoal_node_info', 'Version of the node, as a label.', () => info)
  metrics.counted('shoal_log_lines_total', 'Log lines, by level.', () =>
    (['ERROR', 'WARN'] as const).map((level) => ({ labels: { level }, value: written.get(level) ?? 0 })),
  )
  metrics.gauge('shoal_disk_free_bytes', 'Free bytes on the disk of the data folder.', () => ({
    value: diskSpace(folder).free,
  }))
  metrics.gauge('shoal_disk_total_bytes', 'Bytes of the disk of the data folder.', () => ({
    value: diskSpace(folder).total,
  }))
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
    settingsLog.info('A log filter of the environment or of --verbose is in force; /admin/logLevels/node is ignored.')
  settings.onChange(({ scope, paths, after }) => {
    settingsLog.as('NODE_SETTINGS_CHANGED').info(`Node settings at scope ${scope} were changed.`, { paths })
    apply(after)
  })
}

function usesPublicKey({ swarm }: SettingsDocument): boolean {
  return swarm.swarmKey === publicSwarmKey
}
