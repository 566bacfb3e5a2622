import { assert } from '../../base/assert.ts'
import { genesis, type Hash, type StreamKey } from '../../protocol/index.ts'
import {
  headRow,
  isOwnStream,
  isSameStream,
  KeptHeads,
  LamportClock,
  noRoomForStream,
  type ReceiveContext,
  type StoredChain,
  type StoredStream,
  StreamBudget,
  type StreamHead,
  type StreamLimit,
  startOfStream,
  type TopicContext,
} from '../../replication/index.ts'
import { MemoryStream } from './memory-stream.ts'

/** The streams of a store in memory, with the clock and the budget for new streams. */
export class MemoryStreams {
  readonly context: TopicContext
  readonly clock = new LamportClock()
  /** By number. */
  readonly all: MemoryStream[] = []
  /** Whether other nodes may have more of the own streams. */
  isDoubtful = false
  readonly #budget = new StreamBudget()
  readonly #heads = new KeptHeads()

  constructor(context: TopicContext) {
    this.context = context
  }

  /** For what comes from other nodes. */
  get receiveContext(): ReceiveContext {
    return { ...this.context, mayAdopt: this.isDoubtful }
  }

  find(key: StreamKey): MemoryStream | undefined {
    return this.all.find((stream) => !stream.isVacant && isSameStream(stream.key, key))
  }

  at(number: number): MemoryStream | undefined {
    const stream = this.all[number]
    return stream?.isVacant === true ? undefined : stream
  }

  limitOf(key: StreamKey, from: string | undefined, slots = this.all.length): StreamLimit | undefined {
    return this.#budget.limitOf({ ...key, own: isOwnStream(key, this.context) }, slots, from)
  }

  /** Creates a stream without adding it to the store. Throws when it exceeds a limit. */
  create(key: StreamKey, from?: string, number = this.all.length): MemoryStream {
    const limit = this.limitOf(key, from, number)
    if (limit !== undefined) throw noRoomForStream(limit)
    const { topic, kind } = this.context
    return new MemoryStream(number, startOfStream(topic, kind, key, isOwnStream(key, this.context)))
  }

  /** Adds a stream that was created, unless it was added before. */
  keep(stream: MemoryStream, from?: string): void {
    if (this.all[stream.number] === undefined) {
      this.all.push(stream)
      this.#budget.add({ ...stream.key, own: stream.own }, from)
      stream.from = from
    }
    assert(this.all[stream.number] === stream, 'streams are numbered without gaps')
  }

  /** Removes everything of a stream of another node. */
  forget(stream: MemoryStream): void {
    this.#budget.remove(stream.key, stream.from)
    stream.forget()
  }

  /** Adds copies of all streams of another store. */
  copyFrom(other: MemoryStreams): void {
    for (const stream of other.all) {
      this.all.push(stream.copy())
      if (!stream.isVacant) this.#budget.add({ ...stream.key, own: stream.own }, stream.from)
      this.clock.follow(stream.position.lamport)
    }
  }

  /** The row of a stream in the head table. */
  headRow(stream: MemoryStream): StreamHead | undefined {
    if (stream.isVacant) return undefined
    const { number, key, own, fork, position } = stream
    const { pruned, count } = position
    const context = { number, key, own, pruned, frozen: fork !== undefined, topic: this.context.topic }
    return headRow({ ...context, redacted: stream.redactedBetween(pruned, count) }, this.head(stream))
  }

  /** The newest signed head of a stream. */
  head(stream: MemoryStream): Uint8Array | undefined {
    return this.#heads.newest(stream.position, this.context, () => stream.receivedHead)
  }

  /** A stream, for the rules of serving. */
  stored(stream: MemoryStream): StoredStream {
    return stream.stored(this.genesisOf(stream))
  }

  /** A stream, for the rules of admission. */
  storedChain(stream: MemoryStream): StoredChain {
    return stream.storedChain(this.genesisOf(stream), () => this.head(stream))
  }

  genesisOf(stream: MemoryStream): Hash {
    const { topic, kind } = this.context
    stream.genesis ??= genesis(topic, stream.key, kind)
    return stream.genesis
  }
}
