import { assert } from '../../../base/assert.ts'
import type { StreamKey } from '../../../protocol/index.ts'
import {
  decidePrune,
  effectOfPrune,
  ownStreamKey,
  type PruneRemoval,
  type PruneResult,
  type PruneStart,
  type ReceiveOptions,
  requireForgettable,
  startAtCheckpoint,
  verifyPrune,
} from '../../../replication/index.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { deleteRange, soundRanges } from '../tag-index/index-ranges.ts'
import { insertEarlyCheckpoint } from './early-checkpoint.ts'
import type { LogState } from './log-state.ts'
import { prunable, storedPrune } from './prunable-stream.ts'
import type { Receiver } from './receive.ts'

/** Prunes events from the start of a stream, by signed records of the node of the stream, and forgets streams. */
export class Pruner {
  readonly #log: LogState
  readonly #receiver: Receiver

  constructor(log: LogState, receiver: Receiver) {
    this.#log = log
    this.#receiver = receiver
  }

  /** Signs a prune record for an own stream, and applies it. Returns the last one when as much is pruned already. */
  pruneOwn(number: number, count: number): Uint8Array {
    this.#log.reopenIfBroken()
    const { options } = this.#log
    const stream = ownStreamKey(number, options)
    const state = this.#log.stream(stream)
    const removal = decidePrune(stream, count, state && prunable(this.#log, state), options)
    assert(state !== undefined, 'a stream that is pruned exists')
    if (removal === undefined) {
      const kept = storedPrune(this.#log, state)
      assert(kept !== undefined, 'the prune record of an own stream can be sent')
      return kept.record
    }
    this.#log.transaction(() => this.#remove(state, count, removal, removal.signed))
    return removal.signed
  }

  /** Applies a prune record of another node. The head of its checkpoint is needed if that is not stored. */
  prune(signed: Uint8Array, signedHead?: Uint8Array, { from }: ReceiveOptions = {}): PruneResult {
    this.#log.reopenIfBroken()
    const { options } = this.#log
    const { stream, count, ...place } = verifyPrune(signed, options)
    const known = this.#log.stream(stream)
    const effect = effectOfPrune({ stream, count, ...place }, signedHead, known && prunable(this.#log, known), options)
    if (effect.is === 'none') return { state: 'known' }
    if (effect.is === 'hold') return { state: 'held' }
    if (effect.is === 'fork') return { state: 'fork' }
    // Nothing is added to a forked stream.
    if (effect.is === 'start' && known !== undefined && this.#log.frozen.has(known.number)) return { state: 'fork' }
    this.#log.transaction(() => {
      const state = known ?? this.#log.addStream(stream, from)
      if (effect.is === 'remove') this.#remove(state, count, effect, signed)
      else this.#startAt(state, effect, signed)
    })
    return { state: 'applied' }
  }

  #remove(state: StreamState, count: number, { checkpoint }: PruneRemoval, signed: Uint8Array): void {
    if (checkpoint !== undefined) insertEarlyCheckpoint(this.#log, state, checkpoint.place, checkpoint.signedHead)
    this.#removeUpTo(state, count, signed)
  }

  #startAt(state: StreamState, { head, signedHead }: PruneStart, signed: Uint8Array): void {
    const { database } = this.#log
    const all = [rowKey(state.number, 0), rowKey(state.number + 1, 0)] as const
    for (const table of ['tail', 'segment', 'checkpoint'])
      database.prepare(`DELETE FROM ${table} WHERE key >= ? AND key < ?`).run(...all)
    this.#dropRanges(state, head.count)
    startAtCheckpoint(state, head)
    assert(!state.own, 'a record of another node never moves an own stream')
    this.#log.insertCheckpoint(state, signedHead, { head: signedHead })
    this.#log.clock.follow(head.lamport)
    this.#removeUpTo(state, head.count, signed)
    this.#receiver.appendWaiting(state)
  }

  #removeUpTo(state: StreamState, count: number, signed: Uint8Array): void {
    const { database } = this.#log
    const bounds = [rowKey(state.number, 0), rowKey(state.number, count)] as const
    for (const table of ['segment', 'tail', 'checkpoint', 'redaction', 'waiting'])
      database.prepare(`DELETE FROM ${table} WHERE key >= ? AND key < ?`).run(...bounds)
    this.#dropRanges(state, count)
    this.#log.changed.add(state)
    state.pruned = count
    state.sealed = Math.max(state.sealed, count)
    if (state.checkpoint <= state.sealed) state.unsealedChunksAtMost = 0
    // The damaged chunk may be gone; if not, the next seal detects it again.
    state.sealable = true
    state.revision++
    this.#log.saveStream(state, { record: signed })
  }

  /** Removes everything of a stream of another node. Returns whether it was known. */
  forget(key: StreamKey): boolean {
    requireForgettable(key, this.#log.options)
    this.#log.reopenIfBroken()
    const state = this.#log.stream(key)
    if (state === undefined) return false
    this.#log.transaction(() => this.#log.vacate(state))
    return true
  }

  #dropRanges({ number }: StreamState, count: number): void {
    for (const range of soundRanges(this.#log.database, number))
      if (range.first + range.count <= count) deleteRange(this.#log.database, range.id)
  }
}
