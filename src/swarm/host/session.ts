import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import { type Channel, type ChannelEvents, type ChannelStream, channels } from './channel.ts'
import { closeReasonOf, type SessionCloseReason, sessionCloseCodes, wordsOf } from './close-codes.ts'
import { misbehaviourOf } from './misbehaviour.ts'

/** Who has ended a session, and why. */
export interface SessionEnd {
  readonly by: 'this node' | 'the peer' | 'the network'
  /** Undefined when the connection was lost, or for a code of a later version. */
  readonly code: SessionCloseReason | undefined
}

/** A connection to a peer with its long-lived streams. Peers are named by their public keys as latin1. */
export interface Session {
  readonly peer: string
  readonly direction: 'inbound' | 'outbound'
  /** The remote address, as multiaddr without peer ID. */
  readonly address: string
  /** The display name of the peer, from identify. */
  readonly agent: string | undefined
  /** The addresses that the peer says it can be reached at, without peer ID. */
  readonly listenAddresses: readonly string[]
  /** Queues a message, which must not be changed any more. A session whose queue is over the limit is closed. */
  send(channel: Channel, bytes: Uint8Array): void
  readonly waitingBytes: number
  waitingOn(channel: Channel): number
  readonly sentBytes: number
  readonly receivedBytes: number
  /** Stops reading, so that the peer has to stop sending, or goes on. */
  pause(isPaused: boolean): void
  onMessage: (channel: Channel, bytes: Buffer) => void
  /** More than 1 MiB waits on the live stream, or less than half of it again. */
  onCongested: (isCongested: boolean) => void
  /** Bytes have arrived, maybe a part of a message. */
  onBytes: () => void
  /** A message has left the queue of its channel, in the order in which they were sent. */
  onSent: (channel: Channel, bytes: number) => void
  /** Called once, never within a call of this session. No message arrives after it. */
  onClose: (reason: string, end: SessionEnd) => void
  /** Closes when what waits was sent and the peer has done the same, or at once. The peer is told the reason. */
  close(reason: SessionCloseReason, atOnce?: boolean): void
}

export interface SessionParts {
  readonly peer: string
  readonly direction: 'inbound' | 'outbound'
  readonly address: string
  readonly agent: string | undefined
  readonly listenAddresses: readonly string[]
  readonly streams: Readonly<Record<Channel, ChannelStream>>
  readonly runtime: Runtime
  /** The number of unread bytes has changed. */
  readonly unreadChanged: (change: number) => void
  /** Called once, when the session is over. */
  readonly closeConnection: () => Promise<void>
}

export class StreamSession implements Session {
  readonly peer: string
  readonly direction: 'inbound' | 'outbound'
  readonly address: string
  readonly agent: string | undefined
  readonly listenAddresses: readonly string[]
  onMessage: Session['onMessage'] = () => {}
  onCongested: Session['onCongested'] = () => {}
  onBytes: Session['onBytes'] = () => {}
  onSent: Session['onSent'] = () => {}
  onClose: Session['onClose'] = () => {}
  readonly #parts: SessionParts
  readonly #streams: Readonly<Record<Channel, ChannelStream>>
  #isCongested = false
  /** Why the session is being closed; undefined while it is open. */
  #end: SessionEnd | undefined
  #isOver = false
  /** Channels on which the peer may still send, while the session is closed. */
  readonly #receiving = new Set<Channel>(channels)
  /** Whether the peer was told that everything has arrived here, and whether it has said so. */
  #hasAcknowledged = false
  #isAcknowledged = false
  #code = 0
  #deadline: Timer | undefined
  readonly #closed = Promise.withResolvers<void>()

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#streams = parts.streams
    this.peer = parts.peer
    this.direction = parts.direction
    this.address = parts.address
    this.agent = parts.agent
    this.listenAddresses = parts.listenAddresses
  }

  /** Resolves when the session is over and its connection is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  get waitingBytes(): number {
    return sum(this.#streams, ({ waitingBytes }) => waitingBytes)
  }

  get sentBytes(): number {
    return sum(this.#streams, ({ sentBytes }) => sentBytes)
  }

  get receivedBytes(): number {
    return sum(this.#streams, ({ receivedBytes }) => receivedBytes)
  }

  /** Received bytes that are not part of a delivered message. */
  get unreadBytes(): number {
    return sum(this.#streams, ({ unreadBytes }) => unreadBytes)
  }

  waitingOn(channel: Channel): number {
    return this.#streams[channel].waitingBytes
  }

  /** Begins to deliver messages. */
  start(): void {
    for (const channel of channels) this.#streams[channel].start(this.#eventsOf(channel))
  }

  send(channel: Channel, bytes: Uint8Array): void {
    if (this.#end !== undefined) return
    if (this.waitingBytes + bytes.length > limits.sessionQueueBytes) {
      this.close('tooSlow', true)
      return
    }
    this.#streams[channel].send(bytes)
    this.#checkCongestion()
  }

  pause(isPaused: boolean): void {
    if (this.#isOver) return
    for (const channel of channels) this.#streams[channel].pause(isPaused)
  }

  close(reason: SessionCloseReason, atOnce = false): void {
    this.#close({ by: 'this node', code: reason }, sessionCloseCodes[reason], atOnce)
  }

  /** Closes a session in which nothing moves. Called every few seconds. */
  checkProgress(now: number): void {
    for (const channel of channels) {
      const reason = this.#streams[channel].stalled(now)
      if (reason !== undefined) this.close(reason, true)
    }
  }

  /** The connection is gone. */
  connectionLost(error: Error | undefined): void {
    const why = error === undefined ? 'the peer closed the connection' : `the connection was lost: ${error.message}`
    const problem = misbehaviourOf(error)
    if (this.#end !== undefined) this.#finish(this.#end)
    else if (problem === undefined) this.#finish({ by: 'the network', code: undefined }, why)
    else this.#finish({ by: 'this node', code: 'malformedMessage' }, `malformed frame of the connection: ${problem}`)
  }

  #close(end: SessionEnd, code: number, atOnce: boolean): void {
    if (this.#isOver) return
    const isFirst = this.#end === undefined
    this.#end ??= end
    if (atOnce) {
      // One frame is enough: the first stream that is not within a message takes it.
      if (isFirst) channels.some((channel) => this.#streams[channel].end(code, true))
      this.#finish(this.#end)
      return
    }
    if (!isFirst) return
    this.#code = code
    const { timers } = this.#parts.runtime
    this.#deadline = timers.setTimeout(() => this.#finish(end), limits.sessionCloseMs).unref()
    for (const channel of channels) this.#streams[channel].end(code, false)
    this.#checkDone()
  }

  #eventsOf(channel: Channel): ChannelEvents {
    return {
      bytesArrived: () => {
        if (!this.#isOver) this.onBytes()
      },
      message: (bytes) => {
        if (!this.#isOver) this.onMessage(channel, bytes)
      },
      sent: (bytes) => {
        if (!this.#isOver) this.onSent(channel, bytes)
      },
      queueChanged: () => this.#checkCongestion(),
      unreadChanged: (change) => this.#parts.unreadChanged(change),
      ended: (code) => this.#endedByPeer(channel, code),
      malformed: (problem) => this.#malformed(channel, problem),
      lost: (error) => this.connectionLost(error),
    }
  }

  /** The last frame comes a second time on the live stream, when the peer has received everything. */
  #endedByPeer(channel: Channel, code: number): void {
    if (!this.#receiving.delete(channel)) this.#isAcknowledged = true
    this.#close({ by: 'the peer', code: closeReasonOf(code) }, code, false)
    this.#checkDone()
  }

  #malformed(channel: Channel, problem: string): void {
    if (this.#isOver) return
    this.#end ??= { by: 'this node', code: 'malformedMessage' }
    channels.some((other) => this.#streams[other].end(sessionCloseCodes.malformedMessage, true))
    this.#finish(this.#end, `malformed message on the ${channel} stream: ${problem}`)
  }

  #checkCongestion(): void {
    const waiting = this.#streams.live.waitingBytes
    const limit = limits.congestedBytes
    const isCongested = waiting > (this.#isCongested ? limit / 2 : limit)
    if (isCongested === this.#isCongested || this.#isOver) return
    this.#isCongested = isCongested
    this.onCongested(isCongested)
  }

  /**
   * Closes the connection only when both sides have received everything: libp2p closes the socket although bytes wait in
   * the layers above it.
   */
  #checkDone(): void {
    if (this.#end === undefined || this.#isOver || this.#receiving.size > 0) return
    if (!this.#hasAcknowledged) this.#streams.live.acknowledge(this.#code)
    this.#hasAcknowledged = true
    if (this.#isAcknowledged) this.#finish(this.#end)
  }

  #finish(end: SessionEnd, words?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end = end
    this.#parts.runtime.timers.clear(this.#deadline)
    const reason = words ?? reasonText(end)
    assert(reason.length > 0, 'a session ends with a reason')
    void this.#parts.closeConnection().then(this.#closed.resolve)
    for (const channel of channels) this.#streams[channel].discard()
    queueMicrotask(() => this.onClose(reason, end))
  }
}

function reasonText({ by, code }: SessionEnd): string {
  const words = code === undefined ? 'for an unknown reason' : wordsOf(code)
  return by === 'the peer' ? `the peer closed the session: ${words}` : words
}

function sum(streams: Readonly<Record<Channel, ChannelStream>>, value: (stream: ChannelStream) => number): number {
  return channels.reduce((total, channel) => total + value(streams[channel]), 0)
}
