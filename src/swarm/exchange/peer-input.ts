import { ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { heads, MalformedBytes, pruneRecords, type StreamKey, streamOfRedaction } from '../../protocol/index.ts'
import {
  compareOwnStream,
  type GivenChunk,
  isSameStream,
  type MalformedChunk,
  nameOfStream,
  type OwnComparison,
  type Received,
  type StreamEnd,
  streamOfChunk,
} from '../../replication/index.ts'
import type { ApplyOutcome, RecordsMessage, StoreOutcome, TableRow } from '../../sync/index.ts'
import type { ReplicatedLog } from './replicated-log.ts'

interface Result<Outcome> {
  readonly outcome: Outcome
  /** The row of the stream in the head table, after it. */
  readonly row: TableRow | undefined
}

interface Stored {
  readonly outcomes: readonly StoreOutcome[]
  /** By the name of their stream. */
  readonly rows: ReadonlyMap<string, TableRow>
}

/** Gives what peers send to the log. What no honest node would send is refused, and costs the sender its connection. */
export class PeerInput {
  readonly #log: ReplicatedLog

  constructor(log: ReplicatedLog) {
    this.#log = log
  }

  /**
   * Stores chunks in order. The rows are those after all of them.
   * @param from the peer, to which new streams are charged
   * @param endOf where the stored part of a stream ends, as far as it is known
   */
  async store(
    chunks: readonly Uint8Array[],
    from: string,
    endOf: (stream: string) => StreamEnd | undefined,
  ): Promise<Result<StoreOutcome>[]> {
    const streams = chunks.map(streamOfChunk)
    const given = chunks.flatMap((bytes, i) => {
      const stream = streams[i]
      return stream === undefined ? [] : [{ bytes, end: endOf(nameOfStream(stream)) }]
    })
    const received = await this.#receive(given, from)
    const outcomes = received.outcomes.values()
    return streams.map((stream) => {
      const outcome = stream === undefined ? 'invalid' : (outcomes.next().value as StoreOutcome)
      const isKnown = stream !== undefined && outcome !== 'invalid' && outcome !== 'failed'
      return { outcome, row: isKnown ? received.rows.get(nameOfStream(stream)) : undefined }
    })
  }

  async #receive(given: readonly GivenChunk[], from: string): Promise<Stored> {
    const none = new Map<string, TableRow>()
    if (given.length === 0) return { outcomes: [], rows: none }
    try {
      const { answers, rows } = await this.#log.receiveAll(given, { from })
      return { outcomes: answers.map(outcomeOf), rows: new Map(rows.map((row) => [nameOfStream(row.key), row])) }
    } catch (error) {
      const outcome = blamed(error)
      return { outcomes: given.map(() => outcome), rows: none }
    }
  }

  async applyRecords({ stream, prune, redactions }: RecordsMessage, from: string): Promise<Result<ApplyOutcome>> {
    try {
      const streams = [
        ...redactions.map(streamOfRedaction),
        ...(prune ? [pruneRecords.decode(prune.record).stream] : []),
      ]
      if (!streams.every((other) => isSameStream(other, stream))) return { outcome: 'invalid', row: undefined }
      const pruned = prune && (await this.#log.applyPrune(prune.record, prune.head, { from }))
      const redacted = redactions.length === 0 ? [] : await this.#log.applyRedactions(redactions, { from })
      const states = [...(pruned ? [pruned] : []), ...redacted].map(({ state }) => state)
      const row = await this.#log.headOf(stream)
      if (states.includes('full') || states.includes('refused')) return { outcome: 'failed', row }
      return { outcome: states.includes('applied') || states.includes('waiting') ? 'applied' : 'unchanged', row }
    } catch (error) {
      return { outcome: blamed(error), row: undefined }
    }
  }

  /** Compares what a peer has of the streams of this node with the stored ones. Undefined for a head of another node. */
  async compareOwn(signed: readonly Uint8Array[], node: Uint8Array): Promise<OwnComparison[] | undefined> {
    try {
      return await Promise.all(signed.map((head) => this.#compareOwn(head, node)))
    } catch (error) {
      if (error instanceof MalformedBytes) return undefined
      throw error
    }
  }

  async #compareOwn(head: Uint8Array, node: Uint8Array): Promise<OwnComparison> {
    const { stream, count } = heads.decode(head)
    if (Buffer.compare(stream.node, node) !== 0 || stream.number >= format.streamsPerNode)
      throw new MalformedBytes('a head of a stream that this node cannot have')
    const stored = (await this.#log.streamOf(stream))?.count ?? 0
    return compareOwnStream({ stream: stream.number, count }, await this.#log.contains(head), stored)
  }

  async applyEvidence(record: Uint8Array, stream: StreamKey, from: string): Promise<Result<ApplyOutcome>> {
    try {
      const { state } = await this.#log.applyEvidence(record, { from })
      return { outcome: state === 'applied' ? 'applied' : 'unchanged', row: await this.#log.headOf(stream) }
    } catch (error) {
      return { outcome: blamed(error), row: undefined }
    }
  }
}

function outcomeOf({ state }: Received | MalformedChunk): StoreOutcome {
  if (state === 'malformed') return 'invalid'
  // A limit of streams is not the fault of an honest peer.
  if (state === 'refused') return 'noRoom'
  return state === 'repaired' ? 'known' : state
}

/** Whether a peer or the log is to blame. Other errors are defects. */
function blamed(error: unknown): 'invalid' | 'failed' {
  if (error instanceof MalformedBytes) return 'invalid'
  if (error instanceof ShoalError) return 'failed'
  throw error
}
