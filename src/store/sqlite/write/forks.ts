import { genesis } from '../../../protocol/index.ts'
import {
  type AppliedEvidence,
  type ForkEvidence,
  frozenCount,
  noRoomForStream,
  type ReceiveOptions,
  type StoredChain,
  verifyEvidence,
} from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { storedStream } from '../read/stored-stream.ts'
import { checkpointsAfter } from '../rows/checkpoints.ts'
import { asDamage } from '../rows/checksum.ts'
import { evidenceOf, putEvidence } from '../rows/evidence.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import type { LogState } from './log-state.ts'

/** Freezes streams whose node has forked them, and keeps the evidence. */
export class Forks {
  readonly #log: LogState

  constructor(log: LogState) {
    this.#log = log
  }

  evidence(stream: StreamNumber): Uint8Array | undefined {
    return asDamage(() => evidenceOf(this.#log.database, stream))?.record
  }

  /** Verifies evidence from another node, and freezes its stream. */
  apply(record: Uint8Array, { from }: ReceiveOptions = {}): AppliedEvidence {
    const log = this.#log
    const evidence = verifyEvidence(record, log.options)
    log.reopenIfBroken()
    const known = log.stream(evidence.stream)
    if (known !== undefined && log.frozen.has(known.number)) return { state: 'known' }
    const limit = known === undefined ? log.limitOf(evidence.stream, from) : undefined
    if (limit !== undefined) throw noRoomForStream(limit)
    // A stream without events is frozen as well: otherwise they would be accepted from the next peer.
    log.transaction(() => this.#freeze(known ?? log.addStream(evidence.stream, from), evidence, record))
    return { state: 'applied' }
  }

  /** Freezes a stream by evidence that was found here. */
  freeze(state: StreamState, record: Uint8Array): void {
    this.#freeze(state, verifyEvidence(record, this.#log.options), record)
  }

  #freeze(state: StreamState, evidence: ForkEvidence, record: Uint8Array): void {
    const frozen = frozenCount(evidence, storedChain(this.#log, state))
    if (this.#log.database.isTransaction) this.#keep(state, frozen, record)
    else this.#log.transaction(() => this.#keep(state, frozen, record))
  }

  #keep({ number }: StreamState, frozen: number, record: Uint8Array): void {
    putEvidence(this.#log.database, { stream: number, frozen, record })
    // Nothing is added to the stream any more.
    this.#log.database
      .prepare('DELETE FROM waiting WHERE key >= ? AND key < ?')
      .run(rowKey(number, 0), rowKey(number + 1, 0))
    this.#log.frozen.add(number)
  }
}

/** The chain of a stream, read from its rows. */
export function storedChain(log: LogState, state: StreamState): StoredChain {
  const { database, options } = log
  const { number, count, pruned } = state
  const start = genesis(options.topic, state.key, options.kind)
  const { checkpointUpTo, frames } = storedStream(database, number, { count, pruned, genesis: start })
  return {
    position: state,
    genesis: start,
    checkpointUpTo: (most) => asDamage(() => checkpointUpTo(most)),
    headFrom: (least) => checkpointsAfter(database, number, least - 1, 1)[0]?.head ?? log.heads.newest(number),
    frames: (from, to) => asDamage(() => [...frames(from, to)]),
  }
}
