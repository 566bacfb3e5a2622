import { ShoalError } from '../../base/errors.ts'
import { tuning } from '../../base/tuning.ts'
import { heads, type StreamKey, signedHeadOf } from '../../protocol/index.ts'
import { type ChainPoint, type Effect, type ReadResult, type Records, spreadPoints } from '../../sync/index.ts'
import type { ReplicatedLog } from './replicated-log.ts'

type Read<Kind extends Effect['do']> = Extract<Effect, { do: Kind }>

/** Reads what peers ask for from the log. */
export class PeerAnswers {
  readonly #log: ReplicatedLog

  constructor(log: ReplicatedLog) {
    this.#log = log
  }

  async events({ stream, from, bytes }: Read<'read'>): Promise<ReadResult> {
    const status = await this.#log.streamOf(stream)
    if (status === undefined) return { nothing: 'notHere' }
    if (from < status.pruned) return { nothing: 'pruned' }
    const { number } = status
    let chunks: readonly Uint8Array[]
    try {
      chunks = await this.#log.chunks(number, from, Math.max(1, bytes))
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
      // It may have been pruned meanwhile. The peer asks again.
      return { nothing: error.code === 'ERR_INVALID_INPUT' && from <= status.count ? 'notABorder' : 'notHere' }
    }
    if (chunks.length === 0) return { nothing: 'notHere' }
    const answer: { records: Records[]; chunk: Uint8Array }[] = []
    let first = from
    // Read after the chunks: a payload that was removed meanwhile must not arrive without its record.
    for (const chunk of chunks) {
      const end = heads.decodeStored(signedHeadOf(chunk)).count
      answer.push({ records: await this.#redactions(number, stream, first, end), chunk })
      first = end
    }
    return { chunks: answer }
  }

  /** Undefined when the stream is not here: an answer without records would say that it has none. */
  async records({ stream, from, to }: Read<'read-records'>): Promise<Records | undefined> {
    const status = await this.#log.streamOf(stream)
    if (status === undefined) return undefined
    const { prune, redactions, next } = await this.#log.records(status.number, from, Math.max(from, to))
    return { stream, prune, redactions, next }
  }

  async evidence(stream: StreamKey): Promise<Uint8Array | undefined> {
    const status = await this.#log.streamOf(stream)
    return status && (await this.#log.evidence(status.number))
  }

  /** The count of the last point that is on the stored chain; 0 when there is none. */
  async common({ stream, points }: Read<'find-common'>): Promise<number> {
    const status = await this.#log.streamOf(stream)
    if (status === undefined) return 0
    for (const { count, hash } of points.toReversed())
      if (count <= status.count && (await this.#log.hashAt(status.number, count)) === hash) return count
    return 0
  }

  /** Own checkpoints in a range, as points to compare. A stream may have thousands, so they are read in parts. */
  async points({ stream, from, to }: Read<'list-points'>): Promise<ChainPoint[]> {
    const status = await this.#log.streamOf(stream)
    if (status === undefined) return []
    const points: ChainPoint[] = []
    let after = from
    for (let isEnd = false; !isEnd; ) {
      const part = await this.#log.checkpointsAfter(status.number, after, tuning.checkpointsPerRead)
      const inRange = part.filter(({ count }) => count <= to)
      points.push(...inRange.map(({ count, head }) => ({ count, hash: heads.decodeStored(head).hash })))
      isEnd = inRange.length < tuning.checkpointsPerRead
      after = inRange.at(-1)?.count ?? after
    }
    return spreadPoints(points)
  }

  async #redactions(number: number, stream: StreamKey, from: number, to: number): Promise<Records[]> {
    const parts: Records[] = []
    for (let first: number | undefined = from; first !== undefined; ) {
      const { redactions, next } = await this.#log.records(number, first, to)
      if (redactions.length > 0) parts.push({ stream, prune: undefined, redactions, next: undefined })
      first = next
    }
    return parts
  }
}
