import { assert } from '../../../base/assert.ts'
import { tuning } from '../../../base/tuning.ts'
import { heads, MalformedBytes, signedHeadOf } from '../../../protocol/index.ts'
import {
  type Addition,
  applyAddition,
  decideVerified,
  emptyStream,
  evidenceOfReached,
  type Growth,
  type MalformedChunk,
  type Plan,
  plainGrowth,
  planWaiting,
  type Received,
  type ReceivingStream,
  type ReceivingStreams,
} from '../../../replication/index.ts'
import { redactedBetween } from '../rows/redacted-offsets.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { packedRow, packRecords, recordsOfFrames } from '../rows/tail-row.ts'
import { LazyChunk, type VerifiedChunk } from './chunk-verifier.ts'
import { type Forks, storedChain } from './forks.ts'
import type { LogState } from './log-state.ts'
import { repairSegment } from './repair.ts'

/** Verified events of another node, with their records as they are stored. */
type PackedAddition = Growth &
  Pick<Addition, 'first' | 'head' | 'signedHead'> & { readonly raw: number; readonly body: Uint8Array }

/** Stores the chunks of other nodes that the rules of replication admit. */
export class Receiver {
  readonly #log: LogState
  readonly #forks: Forks
  readonly #streams: ReceivingStreams
  readonly #noteReceived: () => void
  /** The hashes of the apps whose events were stored since the caller last cleared the set. */
  readonly apps = new Set<number>()

  /** @param noteReceived called before events of unknown apps are stored */
  constructor(log: LogState, forks: Forks, noteReceived: () => void) {
    this.#log = log
    this.#forks = forks
    this.#noteReceived = noteReceived
    this.#streams = {
      find: (key) => {
        const state = log.stream(key)
        return state && this.#receiving(state)
      },
      limitOf: (key, from) => log.limitOf(key, from),
    }
  }

  /**
   * Stores verified chunks, several in one commit. Yields between commits, so that local appends can run: nothing but the
   * results is kept from one to the next.
   * @param from the peer that has sent them
   */
  *receive(chunks: readonly VerifiedChunk[], from?: string): Generator<void, (Received | MalformedChunk)[]> {
    const results: (Received | MalformedChunk)[] = []
    while (results.length < chunks.length) {
      if (results.length > 0) yield
      this.#log.reopenIfBroken()
      const left = chunks.slice(results.length)
      const stored = this.#storePlain(left, from)
      if (stored.length > 0) results.push(...stored)
      else results.push(this.#receiveOne(left[0] as VerifiedChunk, from))
    }
    return results
  }

  /** Stores the waiting chunks that continue a stream now, within the current transaction. */
  appendWaiting(state: StreamState): void {
    const plan = planWaiting(this.#receiving(state))
    this.#apply(state, plan)
    this.#compare(state, plan)
  }

  /** Stores the first chunks in one transaction, as long as each plainly continues its stream. */
  #storePlain(chunks: readonly VerifiedChunk[], from: string | undefined): Received[] {
    // Before the transaction: the first chunk may not be a plain one.
    let addition = this.#plainAddition(chunks[0] as VerifiedChunk, from)
    if (addition === undefined) return []
    return this.#log.transaction(() => {
      const stored: Received[] = []
      let left: number = tuning.receiveSliceBytes
      for (const [i, chunk] of chunks.entries()) {
        left -= chunk.bytes.length
        if (i > 0) addition = left >= 0 ? this.#plainAddition(chunk, from) : undefined
        if (addition === undefined) break
        const { stream } = addition.head
        const state = this.#log.stream(stream) ?? this.#log.addStream(stream, from)
        this.#append(state, addition)
        for (const app of chunk.apps) this.apps.add(app)
        stored.push({ state: 'stored', count: state.count })
      }
      return stored
    })
  }

  #plainAddition(chunk: VerifiedChunk, from: string | undefined): PackedAddition | undefined {
    const signedHead = signedHeadOf(chunk.bytes)
    const head = heads.decode(signedHead)
    const { first, recordsAt, packed } = chunk
    const records = chunk.bytes.subarray(recordsAt)
    const known = this.#streams.find(head.stream)
    if (known === undefined && this.#log.limitOf(head.stream, from) !== undefined) return undefined
    const { options } = this.#log
    const summary = { ...chunk, head, bytes: records.length }
    const growth = plainGrowth(summary, known ?? emptyStream(head.stream, options), options)
    // A linked chunk was compressed when it was verified, if that saves space.
    return growth && { ...growth, first, head, signedHead, raw: records.length, body: packed ?? records }
  }

  /** Decides about a chunk, and does what was decided in a transaction of its own. */
  #receiveOne(chunk: VerifiedChunk, from: string | undefined): Received | MalformedChunk {
    // Waiting chunks may be stored with it.
    this.#noteReceived()
    try {
      return this.#decide(chunk, from)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      return { state: 'malformed', reason: error.message }
    }
  }

  /** Everything is decided before the transaction: rolling one back reloads all streams, and outdates a seal. */
  #decide(chunk: VerifiedChunk, from: string | undefined): Received {
    const log = this.#log
    const { bytes, before } = chunk
    const decision = decideVerified(new LazyChunk(chunk), { before, from }, this.#streams, log.receiveContext)
    const { stream } = decision.chunk.head
    const known = log.stream(stream)
    if (decision.is === 'answer') {
      const { state, count } = decision.answer
      const isRepaired = state === 'known' && known !== undefined && repairSegment(log, known, decision.chunk)
      return isRepaired ? { state: 'repaired', count } : decision.answer
    }
    if (decision.is === 'fork') {
      assert(known !== undefined, 'only a stream with events can be forked')
      this.#forks.freeze(known, decision.evidence)
      return { state: 'forked', count: known.count }
    }
    const state = log.transaction(() => {
      const state = known ?? log.addStream(stream, from)
      if (decision.is === 'store') this.#apply(state, decision)
      else log.waiting.ofStream(state.number).keep(decision.waiting, bytes)
      return state
    })
    const { count } = state
    if (decision.is === 'wait') return { state: 'waiting', count }
    return { state: this.#compare(state, decision) ? 'forked' : 'stored', count }
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
      waitingUpTo: (offset) => this.#log.waiting.ofStream(state.number).upTo(offset),
      waitingRoom: () => this.#log.waiting.ofStream(state.number).room(),
    }
  }

  /** Stores planned additions, and drops the waiting chunks that are reached, within the current transaction. */
  #apply(state: StreamState, { additions }: Plan): void {
    for (const addition of additions) {
      const records = recordsOfFrames(addition.frames)
      this.#append(state, { ...addition, raw: records.length, body: packRecords(records) })
    }
    this.#log.waiting.ofStream(state.number).dropUpTo(state.count)
  }

  #append(state: StreamState, addition: PackedAddition): void {
    const { first, count, lamport, chain, head, signedHead, raw, body } = addition
    applyAddition(addition, state, this.#log.clock)
    const key = rowKey(state.number, first)
    this.#log.insertTail(packedRow({ key, count, lamport, raw, body }, { is: 'after', hash: chain.hash }))
    this.#log.changed.add(state)
    // An own head is signed here; a stored one would be that of another node.
    const newest = state.own ? undefined : { head: signedHead }
    if (head.checkpoint) this.#log.insertCheckpoint(state, signedHead, newest)
    else if (newest !== undefined) this.#log.saveStream(state, newest)
  }
}
