import type { TopicKind } from '../../../protocol/index.ts'
import type { GivenChunk, MalformedChunk } from '../../../replication/index.ts'
import { ChunkVerifier, type VerifiedChunk } from '../../sqlite/index.ts'

/** The result of verifying a chunk. Its bytes stay with the caller, which has them. */
export type CheckedChunk = Omit<VerifiedChunk, 'bytes' | 'before'> | MalformedChunk

/** The calls of the verifier thread. */
export class ChunkChecks {
  readonly #verifier: ChunkVerifier

  constructor(kind: TopicKind) {
    this.#verifier = new ChunkVerifier(kind)
  }

  check(chunks: readonly GivenChunk[]): CheckedChunk[] {
    return chunks.map((chunk) => {
      const checked = this.#verifier.check(chunk)
      if ('state' in checked) return checked
      const { bytes: _bytes, before: _before, ...result } = checked
      return result
    })
  }

  close(): void {}
}
