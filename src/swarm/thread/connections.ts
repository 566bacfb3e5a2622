import { messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Logger } from '../../logging/index.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import type { Message } from '../../sync/index.ts'
import type { BlockTransport } from '../exchange/block-replicator.ts'
import type { Transport } from '../exchange/replicator-options.ts'
import {
  type Channel,
  DialFailure,
  type Host,
  type Session,
  type SessionCloseReason,
  type SessionEnd,
} from '../host/index.ts'
import { type Dialler, nodeIdOfPeer } from '../peers/index.ts'
import type { BlockEvents, ConnectionEvents } from './connection-events.ts'
import { KeepingOut } from './keeping-out.ts'
import { PeerConnection } from './peer-connection.ts'
import { PingLog } from './ping-log.ts'
import { ReasonCounts } from './reason-counts.ts'

export interface ConnectionsOptions {
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly log: Logger
  readonly dialler: Dialler
  /** Whether a peer is known to be connected to another one. */
  readonly areConnected: (peer: string, other: string) => boolean
  /** Called when a snapshot would be another one. */
  readonly changed: () => void
}

/** One session per peer: dialled as the dialler decides, doubles closed, messages encoded and decoded. */
export class Connections implements Transport, BlockTransport {
  readonly #options: ConnectionsOptions
  readonly #pings: PingLog
  /** By peer. */
  readonly #connections = new Map<string, PeerConnection>()
  readonly #counts = { dials: 0, sentBytes: 0, receivedBytes: 0 }
  readonly #dialFailures = new ReasonCounts()
  readonly #closed = new ReasonCounts()
  readonly #keepingOut: KeepingOut
  readonly #stopping = new AbortController()
  #events: ConnectionEvents | undefined
  #blocks: BlockEvents | undefined
  #host: Pick<Host, 'dial'> | undefined
  /** The display name, when it was changed since the start of the host. */
  #displayName: string | undefined
  #lastId = 0
  #timer: Timer | undefined
  #isClosed = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#pings = new PingLog(options.log, options.runtime.timers)
    this.#keepingOut = new KeepingOut(options.dialler, options.log)
  }

  /** Set before the first session. */
  set events(events: ConnectionEvents) {
    this.#events = events
  }

  /** Set before the first session. */
  set blocks(blocks: BlockEvents) {
    this.#blocks = blocks
  }

  /** Begins to dial. */
  start(host: Pick<Host, 'dial'>): void {
    this.#host = host
    this.wake()
  }

  get all(): ReadonlyMap<string, PeerConnection> {
    return this.#connections
  }

  get counters() {
    const open = [...this.#connections.values()].map(({ session }) => session)
    return {
      ...this.#counts,
      dialFailures: this.#dialFailures.counts,
      closed: this.#closed.counts,
      keptOut: this.#keepingOut.counts,
      sentBytes: open.reduce((sum, { sentBytes }) => sum + sentBytes, this.#counts.sentBytes),
      receivedBytes: open.reduce((sum, { receivedBytes }) => sum + receivedBytes, this.#counts.receivedBytes),
    }
  }

  /** A session of either side is ready. */
  add(session: Session): void {
    const { peer, direction, address } = session
    const { dialler } = this.#options
    if (this.#isClosed) {
      session.close('stopping', true)
      return
    }
    const id = ++this.#lastId
    const node = nodeIdOfPeer(peer)
    const connection = new PeerConnection(id, session, this.#now, {
      answered: (micros) => this.#pings.answered(node, micros),
      failed: () => this.#pings.failed(node),
    })
    const doubles = dialler.connected(peer, { id, direction, address }, this.#now)
    dialler.learned(peer, session.listenAddresses, 'identify', this.#now)
    session.onClose = (reason, end) => this.#ended(connection, reason, end)
    if (doubles.includes(id)) {
      connection.isClosing = true
      session.close('double')
    } else this.#use(connection)
    this.wake()
  }

  send(peer: string, message: Message): void {
    const connection = this.#connections.get(peer)
    if (connection === undefined || connection.isClosing) return
    connection.send(message, this.#now)
    this.#checkSync(connection)
    this.#options.changed()
  }

  /** Sends a message to all connected peers. */
  sendAll(message: Message): void {
    for (const peer of this.#connections.keys()) this.send(peer, message)
  }

  /** Tells the peers another display name than the one that identify tells. */
  setDisplayName(name: string): void {
    this.#displayName = name
    for (const connection of this.#connections.values()) if (!connection.isClosing) connection.sendDisplayName(name)
  }

  sendBlocks(peer: string, bytes: Uint8Array): void {
    const connection = this.#connections.get(peer)
    if (connection !== undefined && !connection.isClosing) connection.session.send('blocks', bytes)
  }

  /** Ends the session with a peer, which is kept out unless it is innocent. */
  close(peer: string, reason: SessionCloseReason): void {
    const connection = this.#connections.get(peer)
    if (connection === undefined || connection.isClosing) return
    connection.isClosing = true
    this.#options.log.warn(`closing the connection to ${nodeIdOfPeer(peer)}: ${reason}`, {
      address: connection.session.address,
    })
    connection.session.close(reason, this.#keepingOut.add(peer, reason, this.#now))
  }

  /** The host has found frames of a peer malformed, and has closed the connection. */
  misbehaved(peer: string): void {
    this.#keepingOut.add(peer, 'malformedMessage', this.#now)
  }

  pause(peer: string, isPaused: boolean): void {
    this.#connections.get(peer)?.session.pause(isPaused)
  }

  /** Dials and introduces what is due, and sets the timer for the next time. */
  wake(): void {
    const { dialler, runtime, changed } = this.#options
    if (this.#host === undefined || this.#isClosed) return
    for (const { peer, address } of dialler.due(this.#now)) void this.#dial(peer, address)
    for (const { to, nodes } of dialler.introductions(this.#now, this.#options.areConnected))
      this.send(to, {
        is: 'addresses',
        nodes: nodes.map(({ peer, addresses }) => ({ node: Buffer.from(peer, 'latin1'), addresses })),
      })
    runtime.timers.clear(this.#timer)
    const at = dialler.wakeAt
    if (at !== undefined) this.#timer = runtime.timers.setTimeout(() => this.wake(), Math.max(1, at - this.#now))
    changed()
  }

  /** Closes all sessions after what waits was sent. */
  stop(): void {
    this.#isClosed = true
    this.#options.runtime.timers.clear(this.#timer)
    this.#stopping.abort()
    for (const connection of this.#connections.values()) {
      connection.isClosing = true
      connection.session.close('stopping')
    }
  }

  get #now(): number {
    return this.#options.runtime.clock.steadyMs()
  }

  #isCurrent(connection: PeerConnection): boolean {
    return !connection.isClosing && this.#connections.get(connection.session.peer) === connection
  }

  #use(connection: PeerConnection): void {
    const { session } = connection
    const { peer, direction, address } = session
    const before = this.#connections.get(peer)
    if (before !== undefined) this.#replace(before)
    session.onMessage = (channel, bytes) => this.#received(connection, channel, bytes)
    session.onCongested = (isCongested) => {
      connection.isCongested = isCongested
      if (this.#isCurrent(connection)) this.#events?.congested(peer, isCongested)
      this.#checkSync(connection, true)
    }
    session.onBytes = () => {
      if (this.#isCurrent(connection)) this.#events?.bytesArrived(peer)
    }
    session.onSent = (channel) => {
      if (channel !== 'blocks') this.#checkSync(connection)
      else if (this.#isCurrent(connection)) this.#blocks?.sent(peer)
    }
    this.#connections.set(peer, connection)
    this.#options.log.info(`connected to ${nodeIdOfPeer(peer)}`, { address, direction })
    this.#events?.connected(peer)
    this.#blocks?.connected(peer)
    if (this.#displayName !== undefined) connection.sendDisplayName(this.#displayName)
  }

  /** Answers and comparisons wait while many are queued: a peer that reads slowly must not fill the memory. */
  #checkSync(connection: PeerConnection, isForced = false): void {
    const { session, isSyncCongested } = connection
    const limit = isSyncCongested ? limits.congestedBytes / 2 : limits.congestedBytes
    const isCongested = connection.isCongested || session.waitingOn('sync') > limit
    if ((isCongested === isSyncCongested && !isForced) || !this.#isCurrent(connection)) return
    connection.isSyncCongested = isCongested
    this.#events?.syncCongested(session.peer, isCongested)
  }

  #received(connection: PeerConnection, channel: Channel, bytes: Uint8Array): void {
    if (!this.#isCurrent(connection)) return
    const { peer } = connection.session
    try {
      if (channel === 'blocks') this.#blocks?.received(peer, bytes)
      else
        for (const message of connection.take(bytes, this.#now))
          if (this.#isCurrent(connection)) this.#events?.received(peer, message)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      this.#options.log.debug(`malformed message of ${nodeIdOfPeer(peer)}: ${error.message}`)
      this.close(peer, 'malformedMessage')
    }
    this.#options.changed()
  }

  /** Another session of the peer stays instead: the conversation begins anew there. */
  #replace(before: PeerConnection): void {
    before.isClosing = true
    this.#forget(before)
    before.session.close('double')
  }

  #ended(connection: PeerConnection, reason: string, { by, code }: SessionEnd): void {
    const { peer, address, sentBytes, receivedBytes } = connection.session
    const { dialler, log } = this.#options
    this.#counts.sentBytes += sentBytes
    this.#counts.receivedBytes += receivedBytes
    this.#closed.add(reason)
    // The host has found malformed frames.
    if (!connection.isClosing && by === 'this node' && code === 'malformedMessage') this.misbehaved(peer)
    connection.isClosing = true
    dialler.disconnected(peer, connection.id, reason, this.#now)
    if (this.#connections.get(peer) === connection) {
      log.info(`disconnected from ${nodeIdOfPeer(peer)}: ${reason}`, { address })
      this.#forget(connection)
    }
    this.wake()
  }

  #forget({ session: { peer } }: PeerConnection): void {
    this.#connections.delete(peer)
    this.#events?.disconnected(peer)
    this.#blocks?.disconnected(peer)
  }

  async #dial(peer: string, address: string): Promise<void> {
    const { dialler, runtime, log } = this.#options
    this.#counts.dials++
    const timeout = new AbortController()
    const timer = runtime.timers.setTimeout(() => timeout.abort(), limits.dialMs)
    try {
      // A session that is made arrives at `add`.
      await this.#host?.dial(peer, address, AbortSignal.any([timeout.signal, this.#stopping.signal]))
    } catch (error) {
      if (this.#isClosed) return
      const { isAnotherNode, other } = error instanceof DialFailure ? error : { isAnotherNode: false, other: undefined }
      const reason = messageOf(error)
      this.#dialFailures.add(reason)
      if (dialler.dialFailed(peer, address, reason, isAnotherNode, this.#now, other))
        log.warn(`connection failed to initial peer ${nodeIdOfPeer(peer)}: ${reason}; it is tried again`, { address })
      else log.debug(`cannot connect to ${nodeIdOfPeer(peer)}: ${reason}`, { address })
    } finally {
      runtime.timers.clear(timer)
    }
    this.wake()
  }
}
