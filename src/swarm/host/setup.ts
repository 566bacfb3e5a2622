import type { Connection, Stream } from '@libp2p/interface'
import { limits } from '../../base/limits.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import { type Channel, ChannelStream, channels } from './channel.ts'
import { anotherTopic, HandshakeFailure } from './dial-failure.ts'
import type { Frame } from './frames.ts'
import { Misbehaviour } from './misbehaviour.ts'
import { decodeOpening, encodeOpening } from './opening.ts'

/** What identify has told about a peer. */
export interface Identified {
  readonly agent: string | undefined
  readonly addresses: readonly string[]
}

export interface Prepared extends Identified {
  readonly streams: Readonly<Record<Channel, ChannelStream>>
}

/** Prepares a connection for a session: its three streams, the topic of the other side, and what identify tells. */
export class ConnectionSetup {
  readonly connection: Connection
  readonly #topic: string
  readonly #runtime: Runtime
  readonly #streams = new Map<Channel, ChannelStream>()
  readonly #done = Promise.withResolvers<Prepared>()
  #isTopicEqual = false
  #failure: Error | undefined
  #identified: Identified | undefined
  #isIdentifyOver = false
  readonly #timers: Timer[]

  constructor(connection: Connection, topic: string, runtime: Runtime) {
    this.connection = connection
    this.#topic = topic
    this.#runtime = runtime
    const { timers } = runtime
    this.#timers = [
      timers.setTimeout(
        () => this.fail(new HandshakeFailure('the node did not open its streams in time')),
        limits.sessionSetupMs,
      ),
      timers.setTimeout(() => this.#identifyOver(), limits.identifyMs),
    ]
    // The failure is handled where the setup is awaited; without a waiter it is not an error.
    this.#done.promise.catch(() => {})
  }

  /** Resolves when messages can be exchanged. */
  get done(): Promise<Prepared> {
    return this.#done.promise
  }

  add(channel: Channel, stream: Stream): void {
    if (this.#streams.has(channel)) {
      stream.abort(new Error('a second stream of a channel'))
      this.fail(new HandshakeFailure(`the node opened a second ${channel} stream`))
      return
    }
    const added = new ChannelStream(channel, stream, this.#runtime.clock)
    this.#streams.set(channel, added)
    if (channel === 'live') this.#exchangeTopics(added)
    this.#check()
  }

  identified(identified: Identified): void {
    this.#identified = identified
    this.#identifyOver()
  }

  /** The first failure counts: others follow from it. */
  get failure(): Error | undefined {
    return this.#failure
  }

  fail(error: Error): void {
    this.#end()
    this.#failure ??= error
    this.#done.reject(error)
  }

  #exchangeTopics(live: ChannelStream): void {
    live.send(encodeOpening({ topic: this.#topic }))
    live.opening(
      (frame) => this.#opened(frame),
      (error) => this.fail(error),
    )
  }

  #opened(frame: Frame): void {
    try {
      if (frame.is === 'end') throw new HandshakeFailure('the node closed the connection before it was ready')
      const topic = topicOf(frame.bytes)
      if (topic !== this.#topic) throw anotherTopic(topic, this.#topic)
      this.#isTopicEqual = true
      this.#check()
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #identifyOver(): void {
    this.#isIdentifyOver = true
    this.#check()
  }

  #check(): void {
    const [live, sync, blocks] = channels.map((channel) => this.#streams.get(channel))
    if (
      !this.#isTopicEqual ||
      !this.#isIdentifyOver ||
      live === undefined ||
      sync === undefined ||
      blocks === undefined
    )
      return
    this.#end()
    const { agent, addresses = [] } = this.#identified ?? {}
    this.#done.resolve({ streams: { live, sync, blocks }, agent, addresses })
  }

  #end(): void {
    for (const timer of this.#timers) this.#runtime.timers.clear(timer)
  }
}

function topicOf(opening: Uint8Array): string {
  try {
    return decodeOpening(opening).topic
  } catch (error) {
    throw error instanceof MalformedBytes ? new Misbehaviour(`malformed opening: ${error.message}`) : error
  }
}
