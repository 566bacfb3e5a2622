import type { TransferListItem } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { ShoalError } from '../../../base/errors.ts'
import { limits } from '../../../base/limits.ts'
import { MalformedBytes, type TopicKind } from '../../../protocol/index.ts'
import { type GivenChunk, type Received, type ReceivedTogether, requireReceivable } from '../../../replication/index.ts'
import { threadModule } from '../../../runtime/thread-module.ts'
import type { VerifiedChunk } from '../../sqlite/index.ts'
import { CalledThread } from '../calls/calls.ts'
import type { ThreadWatch } from '../spawn.ts'
import { type CheckedChunk, ChunkChecks } from './chunk-checks.ts'
import type { VerifierData } from './verifier-thread.ts'

/** Passes verified chunks to the writer. */
type Store = (
  chunks: readonly VerifiedChunk[],
  from: string | undefined,
  transfer: readonly TransferListItem[],
) => Promise<ReceivedTogether>

interface ChunkReceivingOptions {
  readonly kind: TopicKind
  readonly threads: ThreadWatch
  readonly store: Store
  /** Size up to which chunks are verified in this thread, while no other waits: it takes less time than a message. */
  readonly bytesVerifiedHere?: number
}

/** Receives chunks of other nodes: the verifier thread verifies them, then the writer stores those that are sound. */
export class ChunkReceiving {
  readonly #store: Store
  readonly #verifier: CalledThread<ChunkChecks>
  readonly #verifiedHere: ChunkChecks
  readonly #bytesVerifiedHere: number
  #pendingBytes = 0

  constructor({ kind, threads, store, bytesVerifiedHere = 0 }: ChunkReceivingOptions) {
    this.#store = store
    this.#verifiedHere = new ChunkChecks(kind)
    this.#bytesVerifiedHere = bytesVerifiedHere
    const module = threadModule('verifier-thread', import.meta.url)
    this.#verifier = new CalledThread('verifier', module, { kind } satisfies VerifierData, { threads })
  }

  async receive(given: readonly GivenChunk[], from: string | undefined): Promise<ReceivedTogether> {
    const bytes = requireReceivable(given)
    if (this.#pendingBytes + bytes > limits.pendingReceivedBytes)
      throw new ShoalError(
        'ERR_SERVICE_OVERLOADED',
        'Service overloaded. Too many events of other nodes wait to be stored. Try again later.',
      )
    this.#pendingBytes += bytes
    try {
      // Copied, because the caller may reuse its memory.
      const chunks = given.map(({ bytes, before, end }) => ({
        bytes: Uint8Array.from(bytes),
        before: before && Uint8Array.from(before),
        end,
      }))
      const isAlone = this.#pendingBytes === bytes
      const checked = await (isAlone && bytes <= this.#bytesVerifiedHere
        ? this.#verifiedHere.check(chunks)
        : this.#verifier.call('check', [chunks]))
      return await this.#storeSound(chunks, checked, from)
    } finally {
      this.#pendingBytes -= bytes
    }
  }

  /** Starts the verifier thread, which takes seconds on a loaded machine, before the first chunk. */
  prepare(): void {
    // A failed start is tried again, and reported, with the first chunk.
    this.#verifier.call('check', [[]]).catch(() => {})
  }

  close(): Promise<void> {
    return this.#verifier.close()
  }

  async #storeSound(
    chunks: readonly GivenChunk[],
    checked: readonly CheckedChunk[],
    from: string | undefined,
  ): Promise<ReceivedTogether> {
    assert(checked.length === chunks.length, 'every chunk is verified')
    const sound: VerifiedChunk[] = []
    for (const [i, result] of checked.entries())
      if (!('state' in result)) {
        const { bytes, before } = chunks[i] as GivenChunk
        sound.push({ bytes, before, ...result })
      }
    const memory = sound.flatMap(({ bytes, packed }) => (packed === undefined ? [bytes] : [bytes, packed]))
    const transfer = memory.map(({ buffer }) => buffer as ArrayBuffer)
    const stored = sound.length === 0 ? { answers: [], rows: [] } : await this.#store(sound, from, transfer)
    const answers = stored.answers.values()
    return {
      answers: checked.map((result) => ('state' in result ? result : (answers.next().value as Received))),
      rows: stored.rows,
    }
  }
}

/** The answer to a single chunk. Throws for a malformed one. */
export function receivedOne({ answers: [received] }: ReceivedTogether): Received {
  assert(received !== undefined, 'every chunk has an answer')
  if (received.state === 'malformed') throw new MalformedBytes(received.reason)
  return received
}
