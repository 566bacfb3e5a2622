import { parsePrivateKey } from '../../identity/index.ts'
import { LogFilter, Logger, type LogLines } from '../../logging/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { ThreadName } from '../../store/index.ts'
import { LinkedLog } from '../../store/linked/index.ts'
import { Replicator } from '../exchange/replicator.ts'
import { Host } from '../host/index.ts'
import { Dialler, type Discovery, nodeIdOfPeer, PeerBudgets } from '../peers/index.ts'
import { BlockPart } from './block-part.ts'
import { Connections } from './connections.ts'
import { FailureLog } from './failure-log.ts'
import { initialPeersOf } from './initial-peers.ts'
import { RemoteGate } from './remote-gate.ts'
import { reportText } from './report-text.ts'
import { type SettingStep, SettingSteps } from './setting-steps.ts'
import { SnapshotSource } from './snapshot-source.ts'
import type { FromSwarm, SwarmSettings, SwarmStart, ThreadNotice, ToSwarm } from './thread-messages.ts'

type Post = (message: FromSwarm) => void

interface Parts {
  /** The public key of this node. */
  readonly key: Uint8Array
  readonly lines: LogLines
  readonly log: Logger
  readonly failures: FailureLog
  readonly store: LinkedLog
  readonly gate: RemoteGate
  readonly dialler: Dialler
  readonly connections: Connections
  readonly replicator: Replicator
  readonly blocks: BlockPart
  readonly snapshots: SnapshotSource
  readonly host: Host
}

/** The parts of the swarm in its thread: created, connected, and stopped in order. */
export class SwarmPart {
  readonly #parts: Parts
  readonly #runtime: Runtime
  readonly #settings: SettingSteps

  private constructor(parts: Parts, settings: SwarmSettings, runtime: Runtime) {
    this.#parts = parts
    this.#runtime = runtime
    this.#settings = new SettingSteps(this.#steps(), settings, (error) => parts.failures.add('settings', error))
  }

  static async start(start: SwarmStart, runtime: Runtime, post: Post): Promise<SwarmPart> {
    const { link, topic, swarmKey, listen, settings } = start
    const { clock } = runtime
    const key = parsePrivateKey(start.privateKey)
    const lines = relayedLines(settings.logFilter, runtime, post)
    const log = new Logger(lines, 'swarm')
    const failures = new FailureLog(log, runtime.timers)
    const random = (): number => runtime.random.bytes(6).readUIntBE(0, 6) / 2 ** 48
    const store = new LinkedLog(link, runtime, threadWatch(post))
    const gate = new RemoteGate(start.isGateOpen, (notice) => post({ is: 'gate', notice }))
    const self = Buffer.from(key.publicKey).toString('latin1')
    const dialler = new Dialler({ self, random }, clock.steadyMs())
    let snapshots: SnapshotSource | undefined
    let replicator: Replicator | undefined
    const connections = new Connections({
      runtime,
      log,
      dialler,
      areConnected: (peer, other) => replicator?.areConnected(peer, other) === true,
      changed: () => snapshots?.changed(),
    })
    const budgets = new PeerBudgets()
    const charge = (peer: string, work: Parameters<PeerBudgets['charge']>[1]): void => {
      const exceeded = budgets.charge(peer, work, clock.steadyMs())
      if (exceeded !== undefined) connections.close(peer, exceeded)
    }
    replicator = new Replicator({
      topic,
      node: key.publicKey,
      log: store,
      transport: connections,
      runtime,
      gossipMs: settings.gossipMs,
      pingTimeoutMs: settings.pingTimeoutMs,
      isReadOnly: settings.isReadOnly,
      random,
      gate,
      onReport: (report) => log.warn(reportText(report)),
      onLearned: ({ peer, nodes }) => {
        for (const { node, addresses } of nodes)
          dialler.told(peer, Buffer.from(node).toString('latin1'), addresses, clock.steadyMs())
        connections.wake()
      },
      onChunk: (peer, chunk) => {
        snapshots?.processed(peer, chunk)
        charge(peer, chunk)
      },
      onRecords: (peer, inVain) => charge(peer, { inVain, newStream: undefined }),
      onFailure: (error) => failures.add('replication', error),
      onRemovalFailure: (error) => failures.add('removal', error),
    })
    const blocks = new BlockPart({
      runtime,
      random,
      transport: connections,
      store,
      timeoutMs: settings.blockTimeoutMs,
      requestLink: () => post({ is: 'wants-blocks' }),
      onFailure: (error) => failures.add('blocks', error),
    })
    let host: Host | undefined
    try {
      await replicator.start()
      connections.events = replicator
      connections.blocks = blocks.replicator
      snapshots = new SnapshotSource({
        runtime,
        replicator,
        blocks: blocks.replicator,
        connections,
        dialler,
        failures,
        settings,
        self,
        post,
      })
      const source = snapshots
      host = await Host.start({
        key,
        swarmKey,
        topic,
        listen,
        announce: settings.announceAddresses,
        agent: settings.displayName,
        mdns: settings.mdns,
        runtime,
        log,
        onFound: (peer, addresses, source) => {
          dialler.learned(peer, addresses, source, clock.steadyMs())
          connections.wake()
        },
        onSession: (session) => {
          store.prepareToReceive()
          connections.add(session)
        },
        onObserved: (peer, address) => source.observed(peer, address),
        onMisbehaviour: (peer) => connections.misbehaved(peer),
        accepts: (peer) => !dialler.isKeptOut(peer, clock.steadyMs()),
        onInboundFailure: (address, reason) => {
          log.debug(`an inbound connection failed: ${reason}`, { address })
          source.inboundFailed(reason)
        },
      })
      const listening = host
      source.listensAt(() => {
        // Interfaces come and go.
        dialler.setOwnAddresses(listening.addresses)
        return listening.addresses
      })
      const parts = {
        key: key.publicKey,
        lines,
        log,
        failures,
        store,
        gate,
        dialler,
        connections,
        replicator,
        blocks,
        snapshots: source,
        host,
      }
      const part = new SwarmPart(parts, settings, runtime)
      dialler.setOwnAddresses(host.addresses)
      part.#setInitialPeers(settings.initialPeers)
      connections.start(host)
      post({ is: 'wants-blocks' })
      return part
    } catch (error) {
      connections.stop()
      blocks.stop()
      replicator.close()
      await host?.stop().catch(() => {})
      await store.close()
      throw error
    }
  }

  take(message: Exclude<ToSwarm, { do: 'start' | 'stop' }>): void {
    const { gate, replicator, blocks } = this.#parts
    switch (message.do) {
      case 'apply':
        this.#settings.apply(message.settings)
        break
      case 'open-gate':
        gate.open()
        break
      case 'removed':
        void replicator.removed(message.stream, message.redaction)
        break
      case 'discovered':
        this.#discovered(message.discovery)
        break
      case 'link-blocks':
        blocks.link(message.port)
    }
  }

  async stop(): Promise<void> {
    const { connections, replicator, blocks, snapshots, host, store } = this.#parts
    await replicator.drain()
    snapshots.stop()
    replicator.close()
    blocks.stop()
    connections.stop()
    await host.stop()
    await store.close()
  }

  #steps(): readonly SettingStep[] {
    const { lines, host, connections, replicator, blocks, snapshots } = this.#parts
    return [
      { of: ['displayName'], apply: ({ displayName }) => connections.setDisplayName(displayName) },
      {
        of: ['logFilter'],
        apply: ({ logFilter }) => {
          lines.filter = new LogFilter(logFilter)
        },
      },
      {
        of: ['blockTimeoutMs'],
        apply: ({ blockTimeoutMs }) => {
          blocks.replicator.timeoutMs = blockTimeoutMs
        },
      },
      { of: ['gossipMs', 'pingTimeoutMs'], apply: (settings) => replicator.setTimes(settings) },
      { of: ['isReadOnly'], apply: ({ isReadOnly }) => replicator.setReadOnly(isReadOnly) },
      { of: ['mdns'], apply: ({ mdns }) => host.setMdns(mdns) },
      { of: ['announceAddresses'], apply: ({ announceAddresses }) => this.#announce(announceAddresses) },
      { of: ['initialPeers'], apply: ({ initialPeers }) => this.#setInitialPeers(initialPeers) },
      {
        of: ['announceAddresses', 'lowLatencyMs', 'highLatencyMs'],
        apply: (settings) => {
          snapshots.settings = settings
        },
      },
    ]
  }

  /** Peers that are connected are told at once; the others by identify when they connect. */
  #announce(addresses: readonly string[]): void {
    const { host, connections, key } = this.#parts
    host.setAnnounce(addresses)
    connections.sendAll({ is: 'addresses', nodes: [{ node: key, addresses: host.announced }] })
  }

  #discovered({ peer, address, isNew }: Discovery): void {
    const { dialler, connections } = this.#parts
    if (isNew) dialler.learned(peer, [address], 'event', this.#runtime.clock.steadyMs())
    else dialler.expired(peer, [address], 'event')
    connections.wake()
  }

  #setInitialPeers(texts: readonly string[]): void {
    const { dialler, connections, log } = this.#parts
    const { peers, problems } = initialPeersOf(texts)
    for (const problem of problems) log.warn(problem)
    for (const { peer, address } of peers) log.info(`added initial peer ${nodeIdOfPeer(peer)}`, { address })
    dialler.setInitialPeers(peers, this.#runtime.clock.steadyMs())
    connections.wake()
  }
}

/** Log lines go to the main thread, which writes them. */
function relayedLines(filter: string, { clock }: Runtime, post: Post): LogLines {
  return { filter: new LogFilter(filter), clock, write: (record) => post({ is: 'log', record }) }
}

function threadWatch(post: Post) {
  const tell =
    (is: ThreadNotice['is']) =>
    (thread: ThreadName, error?: Error): void =>
      post({ is: 'thread', notice: { thread, is, reason: error?.message ?? '' } })
  return { started: tell('started'), ended: tell('ended'), startFailed: tell('startFailed') }
}
