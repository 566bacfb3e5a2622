import type { DatabaseSync } from 'node:sqlite'
import type { StreamKey } from '../../../protocol/index.ts'
import { headRow, KeptHeads, type OwnHead, type StreamHead, type TopicContext } from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { asDamage } from '../rows/checksum.ts'
import { redactedBetween } from '../rows/redacted-offsets.ts'
import type { StreamState } from '../rows/stream-state.ts'
import type { Statements } from '../statements.ts'

/** The part of a log that its heads depend on. */
interface HeadSource {
  readonly options: TopicContext
  readonly streams: Iterable<StreamState>
  readonly database: DatabaseSync
  readonly statements: Statements
  readonly frozen: ReadonlySet<StreamNumber>
  stream(key: StreamKey): StreamState | undefined
  reopenIfBroken(): void
}

/** The newest signed heads of the streams of a log. Those of own streams are signed on demand. */
export class LogHeads {
  readonly #log: HeadSource
  readonly #kept = new KeptHeads()

  constructor(log: HeadSource) {
    this.#log = log
  }

  /** The newest signed head of a stream, by its number in the database. */
  newest(number: StreamNumber): Uint8Array | undefined {
    this.#log.reopenIfBroken()
    const state = [...this.#log.streams].find((stream) => stream.number === number)
    return state && this.#kept.newest(state, this.#log.options, () => this.#received(number))
  }

  /** The newest signed head of an own stream. */
  own(key: StreamKey): Uint8Array | undefined {
    this.#log.reopenIfBroken()
    const state = this.#log.stream(key)
    return state && this.#signed(state)
  }

  /** The newest signed heads of own streams, for the head table. */
  allOwn(): OwnHead[] {
    this.#log.reopenIfBroken()
    return [...this.#log.streams].flatMap((state) => {
      const head = this.#signed(state)
      return head === undefined ? [] : [{ number: state.number, head }]
    })
  }

  /** The row of a stream in the head table. */
  row(key: StreamKey): StreamHead | undefined {
    this.#log.reopenIfBroken()
    const state = this.#log.stream(key)
    if (state === undefined) return undefined
    const { number, own, pruned, count } = state
    const { database, frozen, options } = this.#log
    const redacted = asDamage(() => redactedBetween(database, number, pruned, count))
    const head = this.#kept.newest(state, options, () => this.#received(number))
    return headRow({ number, key, own, pruned, frozen: frozen.has(number), topic: options.topic, redacted }, head)
  }

  #signed(state: StreamState): Uint8Array | undefined {
    return state.own ? this.#kept.newest(state, this.#log.options, () => undefined) : undefined
  }

  #received(number: StreamNumber): Uint8Array | undefined {
    return (this.#log.statements.getStream.get(number)?.['head'] ?? undefined) as Uint8Array | undefined
  }
}
