import { assert } from '../../../base/assert.ts'
import {
  type Addition,
  applyAddition,
  decideChunk,
  evidenceOfReached,
  type Plan,
  planWaiting,
  type Received,
  type ReceiveOptions,
  type ReceivingStream,
  type ReceivingStreams,
} from '../../../replication/index.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { recordsOfFrames, tailRow } from '../rows/tail-row.ts'
import { type Forks, storedChain } from './forks.ts'
import type { LogState } from './log-state.ts'
import { redactedBetween } from './redactions.ts'
import { WaitingRows } from './waiting.ts'

/** Stores the chunks of other nodes that the rules of replication admit. */
export class Receiver {
  readonly #log: LogState
  readonly #forks: Forks

  constructor(log: LogState, forks: Forks) {
    this.#log = log
    this.#forks = forks
  }

  /**
   * Verifies a chunk and stores it in one transaction, together with the chunks that waited for it. Everything is decided
   * before the transaction: rolling one back reloads all streams, and outdates the seal that is being built.
   */
  receive(bytes: Uint8Array, options: ReceiveOptions = {}): Received {
    const log = this.#log
    log.reopenIfBroken()
    const streams: ReceivingStreams = {
      find: (key) => {
        const state = log.stream(key)
        return state && this.#receiving(state)
      },
      limitOf: (key, from) => log.limitOf(key, from),
    }
    const decision = decideChunk(bytes, options, streams, log.options)
    if (decision.is === 'answer') return decision.answer
    const { stream } = decision.chunk.head
    const known = log.stream(stream)
    if (decision.is === 'fork') {
      assert(known !== undefined, 'only a stream with events can be forked')
      this.#forks.freeze(known, decision.evidence)
      return { state: 'forked', count: known.count }
    }
    const state = log.transaction(() => {
      const state = known ?? log.addStream(stream, options.from)
      if (decision.is === 'store') this.#apply(state, decision)
      else this.#waiting(state).keep(decision.waiting, bytes)
      return state
    })
    const { count } = state
    if (decision.is === 'wait') return { state: 'waiting', count }
    return { state: this.#compare(state, decision) ? 'forked' : 'stored', count }
  }

  /** Stores the waiting chunks that continue a stream now, within the current transaction. */
  appendWaiting(state: StreamState): void {
    const plan = planWaiting(this.#receiving(state))
    this.#apply(state, plan)
    this.#compare(state, plan)
  }

  /** Compares the waiting chunks that were reached with what was stored instead. Returns whether that proves a fork. */
  #compare(state: StreamState, { reached }: Plan): boolean {
    const evidence = evidenceOfReached(reached, this.#receiving(state))
    if (evidence !== undefined) this.#forks.freeze(state, evidence)
    return evidence !== undefined
  }

  #receiving(state: StreamState): ReceivingStream {
    return {
      ...storedChain(this.#log, state),
      isFrozen: this.#log.frozen.has(state.number),
      redactedBetween: (from, to) => redactedBetween(this.#log.database, state.number, from, to),
      waitingUpTo: (offset) => this.#waiting(state).upTo(offset),
      waitingRoom: () => this.#waiting(state).room(),
    }
  }

  #waiting({ number }: StreamState): WaitingRows {
    return new WaitingRows(this.#log.database, number)
  }

  /** Stores planned additions, and drops the waiting chunks that are reached, within the current transaction. */
  #apply(state: StreamState, { additions }: Plan): void {
    for (const addition of additions) this.#append(state, addition)
    this.#waiting(state).dropUpTo(state.count)
  }

  #append(state: StreamState, addition: Addition): void {
    const { first, count, lamport, chain, frames, head, signedHead } = addition
    applyAddition(addition, state, this.#log.clock)
    const point = { is: 'after', hash: chain.hash } as const
    this.#log.insertTail(tailRow(rowKey(state.number, first), count, lamport, point, recordsOfFrames(frames)))
    this.#log.changed.add(state)
    if (head.checkpoint) this.#log.insertCheckpoint(state, signedHead)
    this.#log.saveHead(state, signedHead)
  }
}
