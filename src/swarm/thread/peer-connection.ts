import { limits } from '../../base/limits.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import type { Message } from '../../sync/index.ts'
import { decodeDisplayName, encodeDisplayName } from '../exchange/display-name.ts'
import { decodeMessage, encodeMessage } from '../exchange/message-codec.ts'
import type { Session } from '../host/index.ts'
import { type PingEvents, Pings } from './pings.ts'

/**
 * What must not wait behind events that were asked for. Heads are among them, because an old one that arrives after a
 * newer push would look like a fork. Everything else keeps its order on the sync channel.
 */
const liveKinds: ReadonlySet<Message['is']> = new Set(['hello', 'push', 'bulk-push', 'heads', 'ping', 'pong'])

/** The session that is in use with a peer, and its messages. */
export class PeerConnection {
  readonly id: number
  readonly session: Session
  /** Milliseconds of the monotonic clock. */
  readonly since: number
  readonly pings: Pings
  /** The display name of the peer, from identify, or what it has told since. */
  displayName: string | undefined
  isCongested = false
  /** Whether requests of the peer wait until answers were sent. */
  isSyncCongested = false
  /** Whether it is being closed: then messages are ignored. */
  isClosing = false
  /** Messages that have overtaken the hello, which comes over another channel; undefined since it has come. */
  #early: Message[] | undefined = []
  #earlyBytes = 0

  constructor(id: number, session: Session, now: number, pings: PingEvents) {
    this.pings = new Pings(pings)
    this.id = id
    this.session = session
    this.displayName = session.agent
    this.since = now
  }

  send(message: Message, now: number): void {
    if (message.is === 'ping') this.pings.sent(message.id, now)
    const bytes = encodeMessage(message)
    const isLive = liveKinds.has(message.is) && bytes.length <= limits.liveMessageBytes
    this.session.send(isLive ? 'live' : 'sync', bytes)
  }

  sendDisplayName(name: string): void {
    this.session.send('sync', encodeDisplayName(name))
  }

  /** The messages to process now that bytes have arrived. Throws for malformed ones. */
  take(bytes: Uint8Array, now: number): readonly Message[] {
    const name = decodeDisplayName(bytes)
    if (name !== undefined) {
      this.displayName = name
      return []
    }
    const message = decodeMessage(bytes)
    if (message === undefined) return []
    if (message.is === 'pong') this.pings.answered(message.id, now)
    const early = this.#early
    if (early === undefined) return [message]
    if (message.is === 'hello') {
      this.#early = undefined
      return [message, ...early]
    }
    this.#earlyBytes += bytes.length
    if (early.length >= limits.earlyMessages || this.#earlyBytes > limits.earlyBytes)
      throw new MalformedBytes('too many messages before the hello')
    early.push(message)
    return []
  }
}
