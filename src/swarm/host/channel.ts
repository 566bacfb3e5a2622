import type { Stream } from '@libp2p/interface'
import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Clock } from '../../runtime/clock.ts'
import { endFrame, type Frame, FrameReader } from './frames.ts'
import { Misbehaviour } from './misbehaviour.ts'
import { SendQueue } from './send-queue.ts'

/** Kinds of messages, each with a stream of its own: what is large does not delay what is urgent. */
export type Channel = 'live' | 'sync' | 'blocks'

/** In the order in which streams are opened, and in which they may send when the connection has room again. */
export const channels: readonly Channel[] = ['live', 'sync', 'blocks']

/** The maximum size of a message, by channel. */
export const maxMessageBytes: Readonly<Record<Channel, number>> = {
  live: limits.liveMessageBytes,
  sync: limits.syncMessageBytes,
  blocks: limits.exchangeMessageBytes,
}

/** The libp2p protocol of a channel. */
export function protocolOf(channel: Channel): string {
  return `/shoal/${channel}/1`
}

export interface ChannelEvents {
  /** Bytes have arrived. */
  bytesArrived(): void
  message(bytes: Buffer): void
  /** A message has left the queue. */
  sent(bytes: number): void
  /** The number of bytes that wait to be sent has changed. */
  queueChanged(): void
  /** The number of received bytes that are not part of a delivered message has changed. */
  unreadChanged(change: number): void
  /** The peer sends no more; its reason as a code. */
  ended(code: number): void
  malformed(problem: string): void
  /** The stream was closed or reset. */
  lost(error: Error | undefined): void
}

/** One long-lived stream of a connection: frames in both directions, with backpressure. Nothing is read before `start`. */
export class ChannelStream {
  readonly channel: Channel
  readonly #stream: Stream
  readonly #clock: Clock
  readonly #reader: FrameReader
  readonly #queue = new SendQueue()
  #events: ChannelEvents | undefined
  #isPaused = false
  #isFlushing = false
  #isEnding = false
  #isClosed = false
  #takeOpening: ((frame: Frame) => void) | undefined
  /** When bytes of an incomplete frame have arrived last, and when a slice was sent last, by the steady clock. */
  #partAt: number | undefined
  #sentAt = 0
  /** The unread bytes that were reported. */
  #countedUnread = 0
  sentBytes = 0
  receivedBytes = 0

  constructor(channel: Channel, stream: Stream, clock: Clock) {
    this.channel = channel
    this.#stream = stream
    this.#clock = clock
    this.#reader = new FrameReader(maxMessageBytes[channel])
    stream.addEventListener('message', ({ data }) => this.#received(data.subarray()))
    // Both events come while the stream is in the middle of sending, so the queue has to wait for a microtask.
    stream.addEventListener('drain', () => this.#scheduleFlush())
    stream.addEventListener('idle', () => this.#scheduleFlush())
    stream.addEventListener('close', ({ error }) => this.#lost(error))
    this.pause(true)
  }

  get waitingBytes(): number {
    return this.#queue.bytes
  }

  /** Memory of incomplete or undelivered messages. */
  get unreadBytes(): number {
    return this.#reader.heldBytes
  }

  /** Reads the first frame, and nothing after it until `start`. */
  opening(taken: (frame: Frame) => void, failed: (error: Error) => void): void {
    this.#events = {
      ...ignored,
      malformed: (problem) => failed(new Misbehaviour(`malformed message on the ${this.channel} stream: ${problem}`)),
      lost: (error) => failed(error ?? new Error('the stream was closed')),
    }
    this.#takeOpening = taken
    // It is not counted with what other peers have not completed, so it has to be small.
    this.#reader.maxBytes = limits.openingMessageBytes
    if (this.#isClosed) failed(new Error('the stream was closed'))
    else this.pause(false)
  }

  /** Begins to deliver messages. */
  start(events: ChannelEvents): void {
    this.#events = events
    this.#reader.maxBytes = maxMessageBytes[this.channel]
    // What arrived with the opening was not counted there.
    this.#countedUnread = 0
    this.#countUnread()
    if (this.#isClosed) queueMicrotask(() => events.lost(undefined))
    else this.pause(false)
  }

  send(message: Uint8Array): void {
    assert(message.length > 0 && message.length <= maxMessageBytes[this.channel], 'a message is within its limit')
    if (this.#isEnding || this.#isClosed) return
    if (this.#queue.bytes === 0) this.#sentAt = this.#clock.steadyMs()
    this.#queue.push(message)
    this.#scheduleFlush()
  }

  /** Sends no more messages. What waits is sent first, unless it is dropped; returns whether the peer can be told. */
  end(code: number, dropsQueue: boolean): boolean {
    if (this.#isEnding || this.#isClosed) return false
    this.#isEnding = true
    const canTell = !dropsQueue || this.#queue.isAtBorder
    if (dropsQueue) this.#queue.clear()
    if (canTell) this.#queue.pushFrame(endFrame(code))
    this.#flush()
    return canTell
  }

  /** Repeats the last frame: everything of the peer has arrived. */
  acknowledge(code: number): void {
    this.#queue.pushFrame(endFrame(code))
    this.#flush()
  }

  /** Stops reading, so that the window of the stream closes, or goes on. */
  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused || this.#isClosed) return
    this.#isPaused = isPaused
    const { readStatus } = this.#stream
    if (isPaused) {
      if (readStatus === 'readable') this.#stream.pause()
      return
    }
    this.#partAt = undefined
    this.#deliver()
    if (!this.#isPaused && this.#stream.readStatus === 'paused') this.#stream.resume()
  }

  /** The reason to close the session because nothing moves. */
  stalled(now: number): 'stalled' | 'tooSlow' | undefined {
    if (!this.#isPaused && this.#partAt !== undefined && now - this.#partAt > limits.incompleteMessageMs)
      return 'stalled'
    return this.#queue.bytes > 0 && now - this.#sentAt > limits.stalledMs ? 'tooSlow' : undefined
  }

  /** Drops what was received, when the session is over: the connection may take a while to close. */
  discard(): void {
    this.#isClosed = true
    this.#queue.clear()
    this.#reader.clear()
    this.#countUnread()
  }

  #received(bytes: Uint8Array): void {
    this.receivedBytes += bytes.length
    if (this.#isClosed) return
    this.#reader.push(bytes)
    this.#events?.bytesArrived()
    this.#deliver()
  }

  #deliver(): void {
    try {
      for (let frame = this.#nextFrame(); frame !== undefined; frame = this.#nextFrame()) this.#take(frame)
    } catch (error) {
      this.#isPaused = true
      this.#events?.malformed(error instanceof Error ? error.message : String(error))
    }
    if (!this.#reader.isWithinFrame) this.#partAt = undefined
    else this.#partAt = this.#clock.steadyMs()
    this.#countUnread()
  }

  #countUnread(): void {
    const change = this.#reader.heldBytes - this.#countedUnread
    this.#countedUnread += change
    if (change !== 0) this.#events?.unreadChanged(change)
  }

  #nextFrame(): Frame | undefined {
    return this.#isPaused || this.#isClosed ? undefined : this.#reader.next()
  }

  #take(frame: Frame): void {
    // A complete frame is progress.
    this.#partAt = undefined
    const takeOpening = this.#takeOpening
    if (takeOpening !== undefined) {
      this.#takeOpening = undefined
      this.pause(true)
      takeOpening(frame)
    } else if (frame.is === 'end') this.#events?.ended(frame.code)
    else this.#events?.message(frame.bytes)
  }

  /** Messages of one turn of the event loop are sent together. */
  #scheduleFlush(): void {
    if (this.#isFlushing || this.#queue.bytes === 0) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  /**
   * Sends slices while the stream takes them. A stream with bytes in its own buffer takes no more: each drain of the
   * connection would add a slice to it, although the window of the stream is closed.
   */
  #flush(): void {
    const before = this.#queue.bytes
    const sizes: number[] = []
    while (this.#queue.bytes > 0 && !this.#isClosed && !this.#isFull) {
      const { bytes, completed } = this.#queue.take(tuning.streamSliceBytes)
      sizes.push(...completed)
      this.sentBytes += bytes.length
      this.#sentAt = this.#clock.steadyMs()
      try {
        this.#stream.send(bytes)
      } catch (error) {
        this.#lost(error instanceof Error ? error : new Error(String(error)))
      }
    }
    for (const size of sizes) this.#events?.sent(size)
    if (this.#queue.bytes < before) this.#events?.queueChanged()
  }

  get #isFull(): boolean {
    return this.#stream.writableNeedsDrain || this.#stream.writeBufferLength > 0
  }

  #lost(error: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queue.clear()
    this.#events?.lost(error)
  }
}

const ignored: ChannelEvents = {
  bytesArrived: () => {},
  message: () => {},
  sent: () => {},
  queueChanged: () => {},
  unreadChanged: () => {},
  ended: () => {},
  malformed: () => {},
  lost: () => {},
}
