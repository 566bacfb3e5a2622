import { assert } from '../../base/assert.ts'
import {
  decidePrune,
  effectOfPrune,
  effectOfRedaction,
  ownStreamKey,
  type PrunableStream,
  type PruneRemoval,
  type PruneResult,
  type PruneStart,
  type ReceiveOptions,
  type RecordOrigin,
  type RedactionResult,
  type SignedRedaction,
  signRedaction,
  startAtCheckpoint,
  verifyPrune,
  verifyRedactions,
} from '../../replication/index.ts'
import type { MemoryReceiver } from './memory-receiver.ts'
import type { MemoryStream } from './memory-stream.ts'
import type { MemoryStreams } from './memory-streams.ts'

/** Prunes and redacts events, by signed records of the node of their stream. */
export class MemoryRemover {
  readonly #streams: MemoryStreams
  readonly #receiver: MemoryReceiver

  constructor(streams: MemoryStreams, receiver: MemoryReceiver) {
    this.#streams = streams
    this.#receiver = receiver
  }

  /** Prunes an own stream. Returns its prune record. */
  pruneOwn(number: number, count: number): Uint8Array {
    const { context } = this.#streams
    const key = ownStreamKey(number, context)
    const stream = this.#streams.find(key)
    const removal = decidePrune(key, count, stream && this.#prunable(stream), context)
    assert(stream !== undefined, 'a stream that is pruned exists')
    if (removal !== undefined) this.#remove(stream, count, removal, removal.signed)
    assert(stream.pruneRecord !== undefined, 'a pruned stream has its prune record')
    return stream.pruneRecord
  }

  /** Applies a prune record of another node. */
  prune(signed: Uint8Array, signedHead: Uint8Array | undefined, { from }: ReceiveOptions): PruneResult {
    const record = verifyPrune(signed, this.#streams.context)
    const known = this.#streams.find(record.stream)
    const effect = effectOfPrune(record, signedHead, known && this.#prunable(known), this.#streams.context)
    if (effect.is === 'none') return { state: 'known' }
    if (effect.is === 'hold') return { state: 'held' }
    if (effect.is === 'fork') return { state: 'fork' }
    const stream = known ?? this.#streams.create(record.stream, from)
    // Nothing is added to a forked stream.
    if (effect.is === 'start' && stream.fork !== undefined) return { state: 'fork' }
    if (effect.is === 'remove') this.#remove(stream, record.count, effect, signed)
    else this.#startAt(stream, effect, signed, from)
    return { state: 'applied' }
  }

  /** Redacts events of an own stream. Returns the redaction record. */
  redactOwn(number: number, offsets: readonly number[]): Uint8Array {
    const { context } = this.#streams
    const known = this.#streams.find(ownStreamKey(number, context))
    const signed = signRedaction(number, offsets, known?.position, context)
    for (const record of verifyRedactions([signed], context)) this.#redact(record, 'local', {})
    return signed
  }

  /** Applies redaction records of other nodes. */
  redact(records: readonly Uint8Array[], options: ReceiveOptions): RedactionResult[] {
    return verifyRedactions(records, this.#streams.context).map((record) => this.#redact(record, 'received', options))
  }

  /** A stream for the rules of pruning. */
  #prunable(stream: MemoryStream): PrunableStream {
    return {
      position: stream.position,
      hasCheckpoint: (count) => stream.checkpoints.has(count),
      placeAt: (count) => stream.placeAt(count, this.#streams.genesisOf(stream)),
    }
  }

  #remove(stream: MemoryStream, count: number, { checkpoint }: PruneRemoval, signed: Uint8Array): void {
    // Copied, because the caller may reuse its memory.
    if (checkpoint !== undefined) stream.addEarlyCheckpoint(count, Uint8Array.from(checkpoint.signedHead))
    stream.prune(count, Uint8Array.from(signed))
  }

  /** Moves a stream to a checkpoint, without the events before it. */
  #startAt(stream: MemoryStream, { head, signedHead }: PruneStart, signed: Uint8Array, from: string | undefined): void {
    // Copied, because the caller may reuse its memory.
    const kept = Uint8Array.from(signedHead)
    this.#streams.keep(stream, from)
    startAtCheckpoint(stream.position, head)
    stream.addCheckpoint(kept)
    stream.receivedHead = kept
    this.#streams.clock.follow(head.lamport)
    stream.prune(head.count, Uint8Array.from(signed))
    this.#receiver.appendWaiting(stream)
  }

  #redact({ signed, record }: SignedRedaction, origin: RecordOrigin, { from }: ReceiveOptions): RedactionResult {
    const known = this.#streams.find(record.stream)
    const limit = known === undefined ? this.#streams.limitOf(record.stream, from) : undefined
    const effect = effectOfRedaction(record, known, this.#streams.receiveContext, origin, limit)
    if (effect.is === 'none') return { state: 'known' }
    if (effect.is === 'hold') return { state: 'held' }
    if (effect.is === 'full' || effect.is === 'refused') return { state: effect.is }
    const { remove, expect } = effect
    const stream = known ?? this.#streams.create(record.stream, from)
    this.#streams.keep(stream, from)
    // Copied, because the caller may reuse its memory.
    stream.redact([...remove, ...expect], Uint8Array.from(signed))
    stream.dropWaiting(expect.at(-1) ?? -1)
    return { state: remove.length > 0 ? 'applied' : 'waiting' }
  }
}
