import type { StreamKey } from '../../../protocol/index.ts'
import { headRow, KeptHeads, type StreamHead, type TopicContext } from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import type { StreamState } from '../rows/stream-state.ts'
import type { Statements } from '../statements.ts'

/** The part of a log that its heads depend on. */
interface HeadSource {
  readonly options: TopicContext
  readonly streams: Iterable<StreamState>
  readonly statements: Statements
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

  /** The own streams in the head table. */
  ownRows(): StreamHead[] {
    this.#log.reopenIfBroken()
    return [...this.#log.streams].flatMap((state) => {
      const head = this.#signed(state)
      return head === undefined ? [] : [headRow(state, head)]
    })
  }

  #signed(state: StreamState): Uint8Array | undefined {
    return state.own ? this.#kept.newest(state, this.#log.options, () => undefined) : undefined
  }

  #received(number: StreamNumber): Uint8Array | undefined {
    return (this.#log.statements.getStream.get(number)?.['head'] ?? undefined) as Uint8Array | undefined
  }
}
